import { count, el, memory } from '../dom.js';
import { field, load as loadList, nothing, pager, rows } from '../list.js';

const things = ['user'];
export const kinds = ['application', 'attempt', 'leadership'];

export async function load(_, signal) {
  const { users } = await loadList('users', signal);
  return { ...users, rows: users.user ?? [] };
}

const of = (u, state) => `/cluster/apps?user=${encodeURIComponent(u.name)}${state ? `&state=${state}` : ''}`;

const columns = [
  { head: 'User', sort: 'name', row: true, wide: true, cell: (u) => el('a', { href: of(u) }, el('bdi', {}, u.name)) },
  { head: 'Running', sort: 'running', num: true, cell: (u) => u.running },
  { head: 'Waiting', sort: 'waiting', num: true, cell: (u) => u.waiting },
  { head: 'Ended', sort: 'ended', num: true, cell: (u) => [u.ended, u.failed ? el('span', { class: 'sub' }, el('a', { href: of(u, 'FAILED,KILLED') }, `${u.failed} failed or killed`)) : null] },
  { head: 'Containers', sort: 'containers', num: true, cell: (u) => u.containers.toLocaleString('en') },
  { head: 'Memory', sort: 'memory', num: true, cell: (u) => memory(u.used.memoryMB) },
  { head: 'VCores', sort: 'vcores', num: true, cell: (u) => u.used.vCores.toLocaleString('en') },
  { head: 'Asks for', sort: 'pendingMemory', num: true, cell: (u) => (u.pendingContainers ? [count(u.pendingContainers, 'container'), el('span', { class: 'sub' }, `${memory(u.pending.memoryMB)}, ${count(u.pending.vCores, 'vcore')}`)] : '—') },
];

export function draw(list) {
  document.title = 'Users – Heddle';
  return [
    el('h1', {}, 'Users'),
    list.unseenApplications ? el('p', { class: 'notice' }, `${count(list.unseenApplications, 'application')} that you may not see ${list.unseenApplications === 1 ? 'isn’t' : 'aren’t'} in these figures.`) : null,
    el('div', { class: 'filters', role: 'search' }, field('q', 'Search', { type: 'search', placeholder: 'part of the name' }), field('queue', 'Queue and those below')),
    list.rows.length ? rows(columns, list.rows, { key: (u) => u.name, first: 'name', caption: 'Users' })
      : nothing(list, 'Nobody has an application, and none is remembered.', things),
    pager(list, things),
  ];
}
