import { get, Refused } from '../api.js';
import { badge, bar, count, el, facts, table, tiles } from '../dom.js';
import { charts, choices, history } from '../past.js';
import { amount, below, capacity, fair, lives, path, short, usage, users, waits } from './queues.js';

export const kinds = ['application', 'attempt', 'queues', 'leadership'];

/** find finds a queue in the tree by its path, or a leaf by its name. */
function find(q, name) {
  if (path(q) === name || (below(q).length === 0 && path(q).endsWith(`.${name}`))) return q;
  for (const c of below(q)) {
    const found = find(c, name);
    if (found) return found;
  }
  return null;
}

export async function load(name, signal) {
  const info = (await get('/ws/v1/cluster/scheduler', signal)).scheduler.schedulerInfo;
  const root = info.rootQueue ?? info;
  const queue = find(root, name);
  if (!queue) throw new Refused(404, `There is no queue ${name}.`);
  return { root, queue, past: await history(`of=queues&name=${encodeURIComponent(path(queue))}`, signal) };
}

const to = (p, text = p) => el('a', { href: `/cluster/queue/${encodeURIComponent(p)}` }, el('bdi', {}, text));

/** way leads from root to the queue. */
function way(p) {
  const parts = p.split('.');
  return parts.slice(0, -1).map((name, i) => [to(parts.slice(0, i + 1).join('.'), name), ' › ']);
}

export function draw({ root, queue: q, past }, _, redraw) {
  const name = path(q);
  document.title = `${name} – Heddle`;
  const u = usage(q, root.maxResources ?? root.clusterResources);
  const used = q.resourcesUsed ?? q.usedResources ?? root.usedResources;
  const children = below(q);
  return [
    el('p', { class: 'soft small' }, el('a', { href: '/cluster/scheduler' }, 'Queues'), ' › ', way(name)),
    el('h1', {}, el('bdi', {}, name)),
    tiles([['used', used ? amount(used).replace(/, .*/, '') : '—'], ['of the cluster', short(u.used)], ['guaranteed', short(u.guaranteed)], ['containers pending', waits(q)], ['applications', lives(q)]]),
    el('div', { class: 'choices' }, choices()),
    charts({ id: 'queue-past', of: 'queues', name, history: past, redraw, guaranteed: true }),
    facts([['State', q.state ? badge(q.state) : ''], ...(q.usedCapacity === undefined ? fair(q) : capacity(q)), ['See', [el('a', { href: `/cluster/apps?queue=${encodeURIComponent(name)}` }, 'its applications'), ', ', el('a', { href: `/cluster/waiting?queue=${encodeURIComponent(name)}` }, 'what waits and why')]]]),
    users(q) ? [el('h2', {}, 'Users'), users(q)] : null,
    children.length ? [el('h2', {}, 'Queues below'), table([
      { head: 'Queue', wide: true, cell: (c) => to(path(c)) }, { head: 'Use of the cluster', num: true, cell: (c) => { const x = usage(c, root.maxResources ?? root.clusterResources); return bar(x.used, x.guaranteed); } },
      { head: 'Guaranteed', num: true, cell: (c) => short(usage(c, root.maxResources ?? root.clusterResources).guaranteed) }, { head: 'Pending', num: true, cell: (c) => (waits(c) ? count(waits(c), 'container') : '—') },
      { head: 'State', cell: (c) => (c.state ? badge(c.state) : '—') },
    ], children, '')] : null,
  ];
}
