// What a reader may do with an application or a container. What he may not isn't offered; what the server refuses is said in its words.
import { act } from './api.js';
import { el } from './dom.js';

let said = { text: '', bad: false };

/** doing makes a handler of a form that asks the server for a change, and then draws again. */
export function doing(redraw, ask, done) {
  return async (e) => {
    e.preventDefault();
    const form = e.target;
    const button = form.querySelector('button');
    button.disabled = true;
    try {
      await ask((name) => form.elements.namedItem(name)?.value.trim());
      said = { text: done, bad: false };
      form.reset();
    } catch (x) {
      said = { text: x.message, bad: true };
    }
    button.disabled = false;
    redraw();
  };
}

export const form = (id, submit, ...parts) => el('form', { id, class: 'action', onsubmit: submit }, parts);
export const status = () => el('p', { role: 'status', class: said.text ? `notice${said.bad ? ' bad' : ''}` : '' }, said.text);
export const unnamed = (me) => (me && !me.named && me.asks ? el('p', { class: 'soft' }, 'To change something, say who you are at the top of the page.') : null);

/** ofApplication are the actions on an application that lives. */
export function ofApplication(a, me, redraw) {
  if (a.finishedTime) return said.text ? status() : null;
  if (!me?.app?.mayModify || !me.named) return unnamed(me);
  const at = `/ws/v1/cluster/apps/${a.id}`;
  return el('section', {}, el('h2', {}, 'Change it'), el('div', { class: 'actions' },
    form('move', doing(redraw, (v) => act('PUT', `${at}/queue`, { queue: v('queue') }), 'It was moved.'), el('label', {}, 'Queue ', el('input', { name: 'queue', id: 'to-queue', required: true, placeholder: a.queue })), el('button', { class: 'button' }, 'Move')),
    form('prioritize', doing(redraw, (v) => act('PUT', `${at}/priority`, { priority: Number(v('priority')) }), 'Its priority was changed.'), el('label', {}, 'Priority ', el('input', { name: 'priority', id: 'to-priority', type: 'number', step: 1, required: true, placeholder: a.priority })), el('button', { class: 'button' }, 'Set')),
    form('limit', doing(redraw, (v) => act('PUT', `${at}/timeout`, { timeout: { type: 'LIFETIME', expiryTime: stamp(v('hours')) } }), 'Its lifetime was changed.'), el('label', {}, 'Ends in hours ', el('input', { name: 'hours', id: 'to-hours', type: 'number', min: 0.1, step: 0.1, required: true })), el('button', { class: 'button' }, 'Set')),
    form('kill', doing(redraw, () => (confirm(`Kill ${a.id}?`) ? act('PUT', `${at}/state`, { state: 'KILLED' }) : Promise.reject(new Error('It was not killed.'))), 'It is being killed.'), el('button', { class: 'button danger' }, 'Kill'))), status());
}

/** stamp is the time after some hours, as YARN reads it. */
const stamp = (hours) => new Date(Date.now() + Number(hours) * 3600e3).toISOString().replace(/Z$/, '+0000');

/** ofContainer are the actions on a container that lives. */
export function ofContainer(id, suspended, me, redraw) {
  if (!me?.app?.mayModify || !me.named) return unnamed(me);
  const at = `/ws/v1/heddle/containers/${id}`;
  return el('section', {}, el('h2', {}, 'Change it'), el('div', { class: 'actions' }, suspended
    ? form('resume', doing(redraw, () => act('POST', `${at}/resume`, {}), 'It resumes.'), el('button', { class: 'button' }, 'Resume'))
    : form('suspend', doing(redraw, () => act('POST', `${at}/suspend`, {}), 'It is suspended.'), el('button', { class: 'button' }, 'Suspend'))), status());
}
