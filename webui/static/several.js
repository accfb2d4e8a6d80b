// Actions on several applications of a list: what the server refuses is said application by application, in its words.
import { act } from './api.js';
import { count, el } from './dom.js';

const picked = new Set();
const atOnce = 4; // requests at a time
let said = null; // { text, refused: [[id, why]] }

/** pick is the column with which applications are chosen. */
export const pick = (rows, redraw) => ({
  head: el('input', { type: 'checkbox', id: 'pick-all', checked: rows.some((r) => !r.finished) && rows.every((r) => r.finished || picked.has(r.id)), 'aria-label': 'Choose all of this page', onchange: (e) => {
    for (const a of rows.filter((r) => !r.finished)) choose(a.id, e.target.checked);
    for (const box of document.querySelectorAll('.pick')) box.checked = picked.has(box.dataset.id);
    redraw();
  } }),
  cell: (a) => (a.finished ? '' : el('input', { type: 'checkbox', class: 'pick', id: `pick-${a.id}`, 'data-id': a.id, checked: picked.has(a.id), 'aria-label': `Choose ${a.id}`, onchange: (e) => { choose(a.id, e.target.checked); redraw(); } })),
});

function choose(id, on) {
  if (on) picked.add(id);
  else picked.delete(id);
}

/** forEach asks for a change of each chosen application. Those that are refused stay chosen. */
async function forEach(ask, done) {
  const ids = [...picked];
  const refused = [];
  const next = async () => {
    for (let id = ids.shift(); id; id = ids.shift()) {
      try {
        await ask(`/ws/v1/cluster/apps/${id}`);
        picked.delete(id);
      } catch (e) {
        refused.push([id, e.message]);
      }
    }
  };
  const all = ids.length;
  await Promise.all(Array.from({ length: atOnce }, next));
  said = { text: `${count(all - refused.length, 'application')} ${done}.`, refused };
  for (const box of document.querySelectorAll('.pick')) box.checked = picked.has(box.dataset.id);
  const whole = document.getElementById('pick-all');
  if (whole) whole.checked = false;
  dispatchEvent(new Event('popstate'));
}

const form = (id, ask, done, ...parts) => el('form', { id, class: 'action', onsubmit: async (e) => {
  e.preventDefault();
  const field = e.target.elements.namedItem('value');
  const to = field?.value.trim();
  const button = e.target.querySelector('button');
  button.disabled = true;
  await forEach((at) => ask(at, to), done);
  button.disabled = false;
} }, parts);

/** actions are what may be done with the chosen applications. */
export function actions() {
  const n = picked.size;
  const result = said ? el('div', { role: 'status', class: `notice${said.refused.length ? ' bad' : ''}` }, said.text, said.refused.slice(0, 20).map(([id, why]) => el('div', {}, `${id}: ${why}`)), said.refused.length > 20 ? `and ${said.refused.length - 20} more` : null) : el('div', { role: 'status' });
  if (n === 0) return [result];
  const kill = form('kill-several', (at) => act('PUT', `${at}/state`, { state: 'KILLED' }), 'killed', el('button', { class: 'button danger' }, 'Kill'));
  kill.handlers.submit = ((f) => (e) => (confirm(`Kill ${count(n, 'application')}?`) ? f(e) : e.preventDefault()))(kill.handlers.submit);
  return [result, el('div', { class: 'actions', id: 'several' }, el('b', {}, `${count(n, 'application')} chosen`),
    form('move-several', (at, queue) => act('PUT', `${at}/queue`, { queue }), 'moved', el('label', {}, 'Queue ', el('input', { name: 'value', id: 'several-queue', required: true })), el('button', { class: 'button' }, 'Move')),
    form('prioritize-several', (at, p) => act('PUT', `${at}/priority`, { priority: Number(p) }), 'changed', el('label', {}, 'Priority ', el('input', { name: 'value', id: 'several-priority', type: 'number', step: 1, required: true })), el('button', { class: 'button' }, 'Set')),
    kill)];
}
