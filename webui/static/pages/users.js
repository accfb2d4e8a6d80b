import { get, seldom } from '../api.js';
import { count, el, list as several, memory, table } from '../dom.js';
import { shown, views } from '../views.js';
import { field, load as loadList, nothing, pager, rows } from '../list.js';

const things = ['user'];
export const kinds = ['application', 'attempt', 'leadership'];

const eachMinute = seldom(60e3);

/** usage asks for the accounts of the last seven days. */
const usage = (signal) => eachMinute('', async () => (await get(`/ws/v1/heddle/usage?from=7d&each=day&zone=${zone()}`, signal)).usage);

/** zone is how many minutes the reader's time is ahead of UTC. */
export const zone = () => -new Date().getTimezoneOffset();

export async function load(_, signal) {
  const [{ users }, past] = await Promise.all([loadList('users', signal), usage(signal).catch(() => null)]);
  return { ...users, rows: users.user ?? [], past };
}

export const hours = (n, per = 1) => (n / per / 3600).toLocaleString('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const date = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short' });

/** spentColumns are those of accounts by day. */
export const spentColumns = [
  { head: 'Day', cell: (a) => date.format(new Date(a.from)) }, { head: 'User', wide: true, cell: (a) => to(a.name) }, { head: 'GB-hours', num: true, cell: (a) => hours(a.memoryMBSeconds, 1024) },
  { head: 'Vcore-hours', num: true, cell: (a) => hours(a.vcoreSeconds) }, { head: 'GPU-hours', num: true, cell: (a) => hours(a.gpuSeconds) }, { head: 'Container-hours', num: true, cell: (a) => hours(a.containerSeconds) },
  { head: 'Suspended GB-hours', num: true, cell: (a) => hours(a.suspendedMBSeconds, 1024) },
];

/** spent is what users have used by day, the latest first. */
function spent(past) {
  if (!past) return null;
  const rows = several(past.account).sort((a, b) => b.from - a.from || b.memoryMBSeconds - a.memoryMBSeconds);
  return el('section', { class: 'figure' }, el('h2', {}, 'Used in the last seven days'), table(spentColumns, rows.slice(0, 200), 'The cluster has no record of any use.'), el('p', { class: 'soft' }, 'From samples each 10 s. ',
    el('a', { href: `/ws/v1/heddle/usage?from=30d&each=day&zone=${zone()}&format=csv`, download: 'usage.csv' }, 'Download 30 days as CSV')));
}

const to = (name) => el('a', { href: `/cluster/user/${encodeURIComponent(name)}` }, el('bdi', {}, name));
const of = (u, state) => `/cluster/apps?user=${encodeURIComponent(u.name)}${state ? `&state=${state}` : ''}`;

const columns = [
  { head: 'User', sort: 'name', row: true, wide: true, cell: (u) => to(u.name) },
  { head: 'Running', sort: 'running', num: true, cell: (u) => (u.running ? el('a', { href: of(u, 'RUNNING') }, u.running) : 0) },
  { head: 'Waiting', sort: 'waiting', num: true, cell: (u) => u.waiting },
  { head: 'Ended', sort: 'ended', num: true, cell: (u) => [u.ended, u.failed ? el('span', { class: 'sub' }, el('a', { href: of(u, 'FAILED,KILLED') }, `${u.failed} failed or killed`)) : null] },
  { head: 'Containers', sort: 'containers', num: true, cell: (u) => u.containers.toLocaleString('en') },
  { head: 'Memory', sort: 'memory', num: true, cell: (u) => memory(u.used.memoryMB) },
  { head: 'VCores', sort: 'vcores', num: true, cell: (u) => u.used.vCores.toLocaleString('en') },
  { head: 'Asks for', sort: 'pendingMemory', num: true, cell: (u) => (u.pendingContainers ? [count(u.pendingContainers, 'container'), el('span', { class: 'sub' }, `${memory(u.pending.memoryMB)}, ${count(u.pending.vCores, 'vcore')}`)] : '—') },
];

export function draw(list, _, redraw) {
  document.title = 'Users – Heddle';
  return [
    el('h1', {}, 'Users'),
    list.unseenApplications ? el('p', { class: 'notice' }, `${count(list.unseenApplications, 'application')} that you may not see ${list.unseenApplications === 1 ? 'isn’t' : 'aren’t'} in these figures.`) : null,
    el('div', { class: 'filters', role: 'search' }, field('q', 'Search', { type: 'search', placeholder: 'part of the name' }), field('queue', 'Queue and those below')),
    views(columns, redraw),
    list.rows.length ? rows(shown(columns), list.rows, { key: (u) => u.name, first: 'name', caption: 'Users' })
      : nothing(list, 'Nobody has an application, and none is remembered.', things),
    pager(list, things),
    spent(list.past),
  ];
}
