import { get, Refused } from '../api.js';
import { badge, bar, count, daemon, el, facts, link, list, memory, table, time } from '../dom.js';

export const kinds = ['node', 'container', 'leadership'];

export async function load(id, signal) {
  const host = id.replace(/:\d+$/, '');
  const [nodes, containers] = await Promise.all([get(`/ws/v1/heddle/nodes?limit=100&q=${encodeURIComponent(host)}`, signal),
    get(`/ws/v1/heddle/containers?limit=200&sort=-allocated&node=${encodeURIComponent(id)}`, signal)]);
  const node = list(nodes.nodes.node).find((n) => n.id === id);
  if (!node) throw new Refused(404, `There is no node ${id}: it never registered, or was forgotten.`);
  return { node, containers: containers.containers };
}

const amount = (a) => [memory(a.memoryMB), count(a.vCores, 'vcore'), ...list(a.other).map((o) => `${o.value} ${o.name}`)].join(', ');

export function draw({ node: n, containers }, id) {
  document.title = `${id} – Heddle`;
  const rows = list(containers.container);
  return [
    el('h1', {}, id),
    facts([
      ['State', badge(n.state)], ['Leaves until', n.decommissionDeadline ? time(n.decommissionDeadline) : ''], ['Health', n.healthReport], ['Rack', n.rack],
      ['Use', bar(n.usePercent)], ['Used', `${amount(n.used)} of ${amount(n.total)}`], ['Containers', `${n.containers.toLocaleString('en')}, ${n.suspendedContainers.toLocaleString('en')} suspended`],
      ['Lent to short tasks', n.shortTasks ? `${memory(n.shortTasks.lent.memory)}, ${count(n.shortTasks.lent.vCores, 'vcore')}; ${n.shortTasks.waitingProbes} wait` : ''], ['Partition', n.partition],
      ['Registered', time(n.registered)], ['Version', [n.release ? `Heddle ${n.release}, ` : '', n.version]], ['Features', list(n.feature).join(', ')], ['Lacks', list(n.missing).join('; ')],
      ['Its own pages', n.httpAddress ? link(`${daemon(n.httpAddress)}/node`, n.httpAddress) : ''],
    ]),
    el('h2', {}, 'Containers'),
    containers.matched > rows.length ? el('p', { class: 'soft' }, `The newest ${rows.length} of ${containers.matched.toLocaleString('en')}.`) : null,
    table([
      { head: 'Container', cell: (c) => el('a', { href: `/cluster/container/${c.containerId}` }, c.containerId) },
      { head: 'State', cell: (c) => badge(c.state) },
      { head: 'User', cell: (c) => el('bdi', {}, c.user) },
      { head: 'Memory', num: true, cell: (c) => memory(c.resource.memory ?? c.resource.memoryMB) },
      { head: 'VCores', num: true, cell: (c) => c.resource.vCores },
      { head: 'Granted', cell: (c) => time(c.allocatedTime) },
      { head: 'Started', cell: (c) => time(c.startedTime) },
    ], rows, 'No container that you may see lives here.'),
  ];
}
