// Which columns of a list are shown, and views that a reader keeps by name in this browser. Both are parameters of the address, so a view can also be sent to somebody.
import { el, own } from './dom.js';
import { go, step, wanted } from './list.js';

const maxViews = 50;

const idOf = (c) => c.head.toLowerCase().replace(/[^a-z]+/g, '-');
const choosable = (c) => typeof c.head === 'string' && !c.row;
const hidden = () => new Set((wanted().get('hide') ?? '').split(',').filter(Boolean));

/** shown leaves out the columns that the address hides. */
export function shown(columns) {
  const off = hidden();
  return columns.filter((c) => !choosable(c) || !off.has(idOf(c)));
}

/** kept are the views of this page: [name, query]. A browser may keep nothing. */
function kept() {
  try {
    const all = JSON.parse(localStorage.getItem(`heddle views ${own()}`) ?? '[]');
    return all.filter((v) => Array.isArray(v) && v.length === 2 && v.every((x) => typeof x === 'string'));
  } catch {
    return [];
  }
}

let said = '';

function keep(all, redraw) {
  try {
    localStorage.setItem(`heddle views ${own()}`, JSON.stringify(all.slice(-maxViews)));
    said = '';
  } catch (e) {
    said = `This browser keeps no views: ${e.message}`;
  }
  redraw();
}

/** query is what is seen now, without the place in the list. */
function query() {
  const now = wanted();
  now.delete('cursor');
  return now.toString();
}

function save(redraw) {
  return (e) => {
    e.preventDefault();
    const field = e.target.elements.namedItem('view');
    const name = field.value.trim();
    if (!name) return;
    field.value = '';
    keep([...kept().filter(([n]) => n !== name), [name, query()]], redraw);
  };
}

/** open goes to a view: what else the address had is gone. */
const open = (q) => (e) => {
  if (e.ctrlKey || e.metaKey || e.shiftKey || e.button) return;
  e.preventDefault();
  history.pushState(null, '', `${location.pathname}${q ? `?${q}` : ''}`);
  dispatchEvent(new Event('popstate'));
};

/** views chooses columns and views: all columns of the list, also hidden ones. */
export function views(columns, redraw) {
  const off = hidden();
  const now = query();
  const all = kept();
  const choose = (id, on) => {
    if (on) off.delete(id);
    else off.add(id);
    go({ hide: [...off].join(',') }, { replace: true });
  };
  return el('details', { id: 'views', class: 'views' }, el('summary', {}, 'Columns and views', off.size ? el('span', { class: 'soft' }, ` ${off.size} hidden`) : null),
    el('fieldset', {}, el('legend', {}, 'Columns'), columns.filter(choosable).map((c) => {
      const box = el('input', { type: 'checkbox', id: `column-${idOf(c)}`, checked: !off.has(idOf(c)), onchange: (e) => choose(idOf(c), e.target.checked) });
      return el('label', { for: `column-${idOf(c)}` }, box, c.head);
    }), off.size ? step({ hide: '' }, { class: 'button', id: 'all-columns' }, 'Show all') : null),
    el('form', { id: 'save-view', class: 'action', onsubmit: save(redraw) }, el('label', {}, 'Keep what is seen now, as ', el('input', { name: 'view', id: 'view-name', maxlength: 80, required: true, autocomplete: 'off' })), el('button', { class: 'button' }, 'Keep')),
    said ? el('p', { class: 'notice bad', role: 'status' }, said) : null,
    all.length ? el('ul', { class: 'news', id: 'kept-views' }, all.map(([name, q]) => el('li', { 'data-key': `view ${name}` }, el('a', { href: `${own()}${q ? `?${q}` : ''}`, onclick: open(q), 'aria-current': q === now ? 'true' : null }, el('bdi', {}, name)), ' ',
      el('button', { type: 'button', class: 'button', 'aria-label': `Drop the view ${name}`, onclick: () => keep(kept().filter(([n]) => n !== name), redraw) }, 'Drop')))) : el('p', { class: 'soft' }, 'No view is kept in this browser yet: filters, order and columns of this list, by a name.'));
}
