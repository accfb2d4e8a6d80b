import { fetched, get, seldom } from '../api.js';
import { count, el, list, memory, table, tiles } from '../dom.js';
import { charts, choices, history } from '../past.js';
import { hours, spentColumns, zone } from './users.js';

export const kinds = ['application', 'attempt', 'leadership'];

const eachMinute = seldom(60e3);

/** usage asks for the accounts of the last thirty days. */
const usage = (user, signal) => eachMinute(user, async () => (await get(`/ws/v1/heddle/usage?from=30d&each=day&zone=${zone()}&name=${encodeURIComponent(user)}`, signal)).usage);

export async function load(user, signal) {
  const [{ users }, past, spent] = await Promise.all([fetched(`/ws/v1/heddle/users?limit=1000&q=${encodeURIComponent(user)}`, signal), history(`of=users&name=${encodeURIComponent(user)}`, signal), usage(user, signal).catch(() => null)]);
  return { now: list(users.user).find((u) => u.name === user), past, spent };
}

const of = (user, state) => `/cluster/apps?user=${encodeURIComponent(user)}${state ? `&state=${state}` : ''}`;

export function draw({ now: u, past, spent }, user, redraw) {
  document.title = `${user} – Heddle`;
  const days = list(spent?.account).sort((a, b) => b.from - a.from);
  const seen = past.hidden === 0 || (past.series ?? []).length > 0;
  return [
    el('p', { class: 'soft small' }, el('a', { href: '/cluster/users' }, 'Users'), ' › '),
    el('h1', {}, el('bdi', {}, user)),
    u ? tiles([['applications running', u.running], ['waiting', u.waiting], ['ended', u.ended], ['containers', u.containers], ['memory used', memory(u.used.memoryMB)], ['vcores used', u.used.vCores], ['containers wanted', u.pendingContainers ?? 0]])
      : el('p', { class: 'notice' }, `${user} has no application that you may see, and none is remembered.`),
    el('p', {}, el('a', { href: of(user) }, 'Applications'), ' · ', el('a', { href: of(user, 'FAILED,KILLED') }, 'Failed or killed'), ' · ', el('a', { href: `/cluster/waiting?user=${encodeURIComponent(user)}` }, 'What waits, and why')),
    seen ? [el('div', { class: 'choices' }, choices()), charts({ id: 'user-past', of: 'users', name: user, history: past, redraw, guaranteed: false })] : el('p', { class: 'notice' }, 'What other users had over time is shown to administrators.'),
    seen ? [el('h2', {}, 'Used by day'), table([...spentColumns.filter((c) => c.head !== 'User')], days, 'Nothing that the cluster remembers.'),
      days.length === 0 ? null : el('p', { class: 'soft' }, `${count(days.length, 'day')} of the last thirty, ${hours(days.reduce((n, a) => n + a.memoryMBSeconds, 0), 1024)} GB-hours in all. `, el('a', { href: `/ws/v1/heddle/usage?from=30d&each=day&zone=${zone()}&name=${encodeURIComponent(user)}&format=csv`, download: 'usage.csv' }, 'Download as CSV'))] : null,
  ];
}
