// Lists that the server filters, sorts and cuts. What a page shows stands in its address, so that it can be sent to somebody.
import { fetched } from './api.js';
import { count, el, own } from './dom.js';

/** wanted are the parameters in the page's address. */
export const wanted = () => new URLSearchParams(location.search);

/** go changes parameters in the address, without a new page, and tells the page. '' removes one. A change of anything but the cursor begins at the first page. */
export function go(changes, { replace = false } = {}) {
  const now = wanted();
  if (!('cursor' in changes)) now.delete('cursor');
  for (const [name, value] of Object.entries(changes)) {
    if (value === '' || value === null || value === undefined) now.delete(name);
    else now.set(name, value);
  }
  const url = `${location.pathname}${now.size ? `?${now}` : ''}`;
  if (replace) history.replaceState(null, '', url);
  else history.pushState(null, '', url);
  dispatchEvent(new Event('popstate'));
}

/** address is the address of this page with other parameters. */
function address(changes) {
  const now = wanted();
  now.delete('cursor');
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') now.delete(name);
    else now.set(name, value);
  }
  return `${own()}${now.size ? `?${now}` : ''}`;
}

/** step makes a link within the page: it changes the address without loading everything again. */
export function step(changes, attributes, ...children) {
  return el('a', { ...attributes, href: address(changes), onclick: (e) => {
    if (e.ctrlKey || e.metaKey || e.shiftKey || e.button) return;
    e.preventDefault();
    go(changes);
  } }, children);
}

let served = ''; // where the list came from

/** load asks for the page of a list that the address wants; more are parameters besides. */
export async function load(path, signal, more = {}) {
  const query = wanted();
  query.delete('hide'); // columns are the page's
  for (const [name, value] of Object.entries(more)) query.set(name, value);
  served = `/ws/v1/heddle/${path}?${query}${query.size ? '&' : ''}`;
  return fetched(`/ws/v1/heddle/${path}${query.size ? `?${query}` : ''}`, signal);
}

/** head is a column's head, which sorts by it. */
function head(c, now, first) {
  if (!c.sort) return el('th', { scope: 'col', class: c.num ? 'num' : null }, c.head);
  const sort = now.get('sort') ?? first;
  const up = sort === c.sort;
  const down = sort === `-${c.sort}`;
  const next = up ? `-${c.sort}` : down ? c.sort : c.num || c.newest ? `-${c.sort}` : c.sort;
  return el('th', { scope: 'col', class: c.num ? 'num' : null, 'aria-sort': up ? 'ascending' : down ? 'descending' : null },
    el('button', { type: 'button', id: `sort-${c.sort}`, onclick: () => go({ sort: next }) }, c.head));
}

/** rows draws a table of a list's page. Each row has a key, by which it is found again when the page is patched. */
export function rows(columns, list, { key, first, caption }) {
  const now = wanted();
  return el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption }, el('table', {},
    el('thead', {}, el('tr', {}, columns.map((c) => head(c, now, first)))),
    el('tbody', {}, list.map((r) => el('tr', { 'data-key': key(r) }, columns.map((c) => {
      const kind = [c.num && 'num', c.wide && 'wide', c.clip && 'clip'].filter(Boolean).join(' ');
      return el(c.row ? 'th' : 'td', { scope: c.row ? 'row' : null, class: kind || null, title: c.title?.(r) }, c.cell(r));
    }))))));
}

/** pager says which part of the list is seen, and leads to the others. */
export function pager(l, things) {
  const n = (l.rows ?? []).length;
  const filtered = l.matched !== l.total ? ` of ${count(l.total, things[0], things[1])} that there are` : '';
  const text = n ? `${(l.before + 1).toLocaleString('en')}–${(l.before + n).toLocaleString('en')} of ${l.matched.toLocaleString('en')}${filtered}` : '';
  return el('div', { class: 'pager' }, el('span', { role: 'status' }, text),
    l.before > 0 ? step({ cursor: '' }, { class: 'button', id: 'first-page' }, 'First page') : null,
    l.prev ? step({ cursor: l.prev }, { class: 'button', id: 'prev-page' }, '← Previous') : null,
    l.next ? step({ cursor: l.next }, { class: 'button', id: 'next-page' }, 'Next →') : null,
    el('span', { class: 'soft' }, l.next || l.prev ? 'At most 1,000 rows from here on as ' : 'This list as ', el('a', { href: `${served}limit=1000&format=csv`, id: 'as-csv', download: `${things[0].split(' ')[0]}s.csv` }, 'CSV'), ' or ', el('a', { href: `${served}limit=1000&format=json`, id: 'as-json' }, 'JSON')));
}

/** nothing says that a list is empty, and why. */
export function nothing(l, none, things) {
  const filtered = l.total > 0;
  return el('div', { class: 'scroll' }, el('p', { class: 'none' }, filtered ? [`None of ${count(l.total, things[0], things[1])} is admitted by these filters. `,
    el('a', { href: own(), onclick: (e) => { e.preventDefault(); history.pushState(null, '', location.pathname); dispatchEvent(new Event('popstate')); } }, 'Clear the filters')] : none));
}

let typing = 0;

/** field is a filter that is typed; the list follows a moment after the last key. */
export function field(name, label, attributes = {}) {
  const input = el('input', { id: `filter-${name}`, ...attributes, oninput: (e) => {
    clearTimeout(typing);
    const { value } = e.target;
    typing = setTimeout(() => go({ [name]: value.trim() }, { replace: true }), 250);
  } });
  input.value = wanted().get(name) ?? '';
  return el('label', { for: `filter-${name}` }, label, input);
}

/** choice are links that set a filter to one of some values: [value, text]. */
export function choice(name, label, values) {
  const now = wanted().get(name) ?? '';
  return el('div', { class: 'chips', role: 'group', 'aria-label': label },
    values.map(([value, text]) => step({ [name]: value }, { 'aria-current': now === value ? 'true' : null, id: `${name}-${value || 'all'}` }, text)));
}
