import { get } from '../api.js';
import { badge, bar, el, link, list, memory, table, tiles, time } from '../dom.js';

export async function load(_, signal) {
  const [metrics, nodes, gone, own] = await Promise.all([get('/ws/v1/cluster/metrics', signal), get('/ws/v1/cluster/nodes', signal),
    get('/ws/v1/cluster/nodes?states=LOST,DECOMMISSIONED,REBOOTED,SHUTDOWN', signal), get('/ws/v1/heddle/nodes', signal)]);
  const seen = new Map();
  for (const n of [...list(nodes.nodes?.node), ...list(gone.nodes?.node)]) seen.set(n.id, n);
  const more = new Map(list(own.nodes?.node).map((n) => [n.id, n]));
  return { metrics: metrics.clusterMetrics, nodes: [...seen.values()].map((n) => ({ ...n, short: more.get(n.id)?.shortTasks, release: more.get(n.id)?.release, place: place(more.get(n.id)) })) };
}

const lent = ({ used, lent, waitingProbes }) => `${memory(used.memory)} of ${memory(lent.memory)}, ${used.vCores} of ${lent.vCores} vcores, ${waitingProbes} wait`;

// What the node is for, where some tasks are long.
const place = (n) => n?.partition && [n.partition, n.closedToLongTasks && n.partition !== 'short' && 'closed to long tasks', n.askedToSuspend && 'asked to suspend'].filter(Boolean).join(', ');

export function draw({ metrics: m, nodes }) {
  document.title = 'Nodes – Heddle';
  return [
    el('h1', {}, 'Nodes'),
    tiles([['active', m.activeNodes], ['unhealthy', m.unhealthyNodes], ['lost', m.lostNodes], ['decommissioning', m.decommissioningNodes],
      ['decommissioned', m.decommissionedNodes], ['rebooted', m.rebootedNodes], ['shut down', m.shutdownNodes]]),
    table([
      { head: 'Node', cell: (n) => n.id },
      { head: 'State', cell: (n) => badge(n.state) },
      { head: 'Rack', cell: (n) => n.rack },
      { head: 'HTTP', cell: (n) => (n.nodeHTTPAddress ? link(`http://${n.nodeHTTPAddress}`, n.nodeHTTPAddress) : '') },
      { head: 'Containers', num: true, cell: (n) => n.numContainers },
      { head: 'Memory', cell: (n) => [bar((100 * n.usedMemoryMB) / (n.usedMemoryMB + n.availMemoryMB)), ` of ${memory(n.usedMemoryMB + n.availMemoryMB)}`] },
      { head: 'VCores', cell: (n) => `${n.usedVirtualCores} of ${n.usedVirtualCores + n.availableVirtualCores}` },
      ...(nodes.some((n) => n.short) ? [{ head: 'Short tasks', cell: (n) => (n.short ? lent(n.short) : '') }] : []),
      ...(nodes.some((n) => n.place) ? [{ head: 'Partition', cell: (n) => n.place || '' }] : []),
      { head: 'Labels', cell: (n) => list(n.nodeLabels).join(', ') },
      { head: 'Version', cell: (n) => (n.release ? `${n.version} (heddle ${n.release})` : n.version) },
      { head: 'Last health report', cell: (n) => time(n.lastHealthUpdate) },
      { head: 'Health', wide: true, cell: (n) => n.healthReport },
    ], nodes, 'No node has joined. Start one with `heddle nm` and the same configuration folder.'),
  ];
}
