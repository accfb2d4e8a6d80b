import { count, el, memory, time, words } from '../dom.js';
import { shown, views } from '../views.js';
import { field, load as loadList, nothing, pager, rows } from '../list.js';

const things = ['application that waits', 'applications that wait'];
export const kinds = ['application', 'attempt', 'node', 'queues', 'leadership'];

export async function load(_, signal) {
  const { waiting } = await loadList('waiting', signal);
  return { ...waiting, rows: waiting.app ?? [] };
}

const amount = (a) => [memory(a.memoryMB), `${count(a.vCores, 'vcore')}`, ...(a.other ?? []).map((o) => `${o.value} ${o.name}`)].join(', ');

/** held says what holds each request, and how much there is of it. */
function held(a) {
  const holds = a.hold ?? [];
  if (!holds.length) return words(a.summary);
  return [holds.map((h) => el('div', {}, el('span', { class: 'badge wait' }, h.limit), ' ', words(h.reason),
    el('span', { class: 'sub' }, `${count(h.numContainers, 'container')} of ${amount(h.capability)}`))),
  a.moreHolds ? el('span', { class: 'sub' }, `and ${count(a.moreHolds, 'more request')}`) : null];
}

const columns = [
  { head: 'Application', sort: 'name', row: true, wide: true, cell: (a) => [el('a', { href: `/cluster/app/${a.id}` }, el('bdi', { class: 'lines', title: a.name.length > 80 ? a.name : null }, a.name || '(no name)')), el('span', { class: 'sub' }, a.id)] },
  { head: 'User', sort: 'user', clip: true, cell: (a) => el('a', { href: `/cluster/apps?user=${encodeURIComponent(a.user)}` }, el('bdi', {}, a.user)) },
  { head: 'Queue', sort: 'queue', clip: true, cell: (a) => [el('a', { href: `/cluster/apps?queue=${encodeURIComponent(a.queue)}` }, a.queue), el('span', { class: 'sub' }, `priority ${a.priority}`)] },
  { head: 'Place', num: true, title: (a) => `Number ${a.place} of ${count(a.placeOf, 'application')} that wait in this queue, by priority and then by submission`, cell: (a) => [a.place.toLocaleString('en'), el('span', { class: 'sub' }, `of ${a.placeOf.toLocaleString('en')}`)] },
  { head: 'Submitted', sort: 'started', newest: false, cell: (a) => time(a.started) },
  { head: 'Asks for', sort: 'memory', num: true, cell: (a) => (a.waiting ? [count(a.waiting, 'container'), el('span', { class: 'sub' }, amount(a.pending))] : '—') },
  { head: 'Has', num: true, cell: (a) => count(a.containers, 'container') },
  { head: 'What holds it', wide: true, cell: held },
  { head: 'What would free it', wide: true, cell: (a) => [...new Set((a.hold ?? []).map((h) => h.remedy).filter(Boolean))].map((r) => el('div', {}, r)) },
];

export function draw(list, _, redraw) {
  document.title = 'Waiting – Heddle';
  return [
    el('h1', {}, 'Waiting'),
    el('div', { class: 'filters', role: 'search' },
      field('q', 'Search', { type: 'search', placeholder: 'id, name, user, queue, type' }), field('user', 'User'), field('queue', 'Queue and those below')),
    views(columns, redraw),
    list.rows.length ? rows(shown(columns), list.rows, { key: (a) => a.id, first: 'started', caption: 'Applications that wait' })
      : nothing(list, 'No application waits: all have what they have asked for.', things),
    pager(list, things),
  ];
}
