import { get } from '../api.js';
import { badge, bar, daemon, el, link, list, memory, tiles, time, whole } from '../dom.js';
import { shown, views } from '../views.js';
import { choice, field, load as loadList, nothing, pager, rows, wanted } from '../list.js';
import * as map from './nodemap.js';

const things = ['node'];
export const kinds = ['node', 'leadership'];

export async function load(view, signal) {
  if (view === 'map') {
    const [metrics, nodes] = await Promise.all([get('/ws/v1/cluster/metrics', signal), map.load(signal)]);
    return { metrics: metrics.clusterMetrics, map: nodes };
  }
  const [metrics, nodes] = await Promise.all([get('/ws/v1/cluster/metrics', signal), loadList('nodes', signal)]);
  return { metrics: metrics.clusterMetrics, nodes: { ...nodes.nodes, rows: nodes.nodes.node ?? [] } };
}

const lent = ({ used, lent: all, waitingProbes }) => `${memory(used.memory)} of ${memory(all.memory)}, ${used.vCores} of ${all.vCores} vcores, ${waitingProbes} wait`;

// What the node is for, where some tasks are long.
const place = (n) => n.partition && [n.partition, n.closedToLongTasks && n.partition !== 'short' && 'closed to long tasks', n.askedToSuspend && 'asked to suspend'].filter(Boolean).join(', ');

const others = (n) => list(n.total.other).map((o) => ` · ${list(n.used.other).find((u) => u.name === o.name)?.value ?? 0} of ${o.value} ${o.name}`);

const columns = (all) => [
  { head: 'Node', sort: 'id', row: true, cell: (n) => [el('a', { href: `/cluster/node/${encodeURIComponent(n.id)}` }, n.id), el('span', { class: 'sub' }, n.rack, n.httpAddress ? [' · ', link(daemon(n.httpAddress), 'its own pages')] : null)] },
  { head: 'State', sort: 'state', cell: (n) => [badge(n.state), n.decommissionDeadline ? el('span', { class: 'sub' }, 'until ', time(n.decommissionDeadline)) : null] },
  { head: 'Use', sort: 'use', num: true, cell: (n) => bar(n.usePercent) },
  { head: 'Memory', sort: 'usedMemory', num: true, cell: (n) => `${memory(n.used.memoryMB)} of ${memory(n.total.memoryMB)}` },
  { head: 'VCores', sort: 'usedVcores', num: true, cell: (n) => [`${n.used.vCores} of ${n.total.vCores}`, others(n)] },
  { head: 'Containers', sort: 'containers', num: true, cell: (n) => [n.containers, n.suspendedContainers ? el('span', { class: 'sub' }, `${n.suspendedContainers} suspended`) : null] },
  ...(all.some((n) => n.shortTasks) ? [{ head: 'Short tasks', cell: (n) => (n.shortTasks ? lent(n.shortTasks) : '') }] : []),
  ...(all.some((n) => n.partition) ? [{ head: 'Partition', cell: (n) => place(n) || '' }] : []),
  ...(all.some((n) => n.label) ? [{ head: 'Label', clip: true, title: (n) => n.label, cell: (n) => (n.label ? el('a', { href: `/cluster/nodes?label=${encodeURIComponent(n.label)}` }, el('bdi', {}, n.label)) : '') }] : []),
  { head: 'Heddle', sort: 'version', cell: (n) => [n.release ?? 'stock YARN', el('span', { class: 'sub' }, n.version)] },
  { head: 'Health', wide: true, cell: (n) => n.healthReport ?? '' },
];

/** listOrMap leads from the list to the map and back, with the same filters. */
function listOrMap(now) {
  const query = wanted();
  for (const name of ['by', 'sort', 'cursor', 'hide']) query.delete(name);
  const q = query.size ? `?${query}` : '';
  return el('nav', { class: 'chips', 'aria-label': 'Views' }, [['', 'List'], ['map', 'Map']].map(([view, text]) => el('a', { href: `/cluster/nodes${view ? '/map' : ''}${q}`, 'aria-current': now === view ? 'page' : null }, text)), el('a', { href: '/cluster/nodelabels' }, 'Labels'));
}

export function draw({ metrics: m, nodes, map: of }, view, redraw) {
  document.title = 'Nodes – Heddle';
  const there = whole(m);
  const all = (nodes?.count ?? []).reduce((sum, c) => sum + c.number, 0);
  return [
    el('h1', {}, 'Nodes'),
    tiles([['active', m.activeNodes], ['unhealthy', m.unhealthyNodes], ['lost', m.lostNodes], ['decommissioning', m.decommissioningNodes],
      ['decommissioned', m.decommissionedNodes], ['shut down or rebooted', m.shutdownNodes + m.rebootedNodes],
      ['memory used', memory(there.usedMB), memory(there.totalMB)], ['vcores used', there.usedVCores, there.totalVCores]]),
    listOrMap(view === 'map' ? 'map' : ''),
    ...(of ? [map.draw(of)] : [choice('state', 'State', [['', `All (${all.toLocaleString('en')})`], ...list(nodes.count).map((c) => [c.state, `${c.state} (${c.number.toLocaleString('en')})`])]),
    el('div', { class: 'filters', role: 'search' },
      field('q', 'Search', { type: 'search', placeholder: 'host, rack, version' }), field('rack', 'Rack'), field('label', 'Label'), field('health', 'Health report')),
    views(columns(nodes.rows), redraw),
    nodes.rows.length ? rows(shown(columns(nodes.rows)), nodes.rows, { key: (x) => x.id, first: 'id', caption: 'Nodes' })
      : nothing(nodes, ['No node has joined. Start one with ', el('code', {}, 'heddle nm'), ' and the same configuration folder.'], things),
    pager(nodes, things)]),
  ];
}
