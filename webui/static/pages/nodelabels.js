import { fetched } from '../api.js';
import { bar, count, el, list, memory, table, tiles } from '../dom.js';

export const kinds = ['node', 'queues', 'leadership'];

export async function load(_, signal) {
  return (await fetched('/ws/v1/heddle/partitions', signal)).partitions;
}

const amount = (a) => [memory(a.memoryMB), count(a.vCores, 'vcore'), ...list(a.other).map((o) => `${o.value.toLocaleString('en')} ${o.name}`)].join(', ');
const any = (a) => a.memoryMB > 0 || a.vCores > 0;
const percent = (p) => `${Number(p.toFixed(1))} %`;
const none = 'without a label';
const nodes = (label) => `/cluster/nodes?label=${encodeURIComponent(label || '""')}`;
const title = (p) => (p.name ? el('bdi', {}, p.name) : none);

/** shares is what the queues have of a partition, as a tree. */
function shares(p) {
  const queues = list(p.queue);
  if (queues.length === 0) return null;
  return el('details', { id: `shares-${p.name || 'none'}`, open: queues.length <= 30 }, el('summary', {}, el('b', {}, title(p)), el('span', { class: 'soft' }, count(queues.length + (p.moreQueues ?? 0), 'queue'))), table([
    { head: 'Queue', wide: true, cell: (q) => { const a = el('a', { href: `/cluster/queue/${encodeURIComponent(q.path)}` }, el('bdi', {}, q.depth ? q.path.slice(q.path.lastIndexOf('.') + 1) : q.path)); const s = el('span', { title: q.path }, a); s.style.paddingLeft = `${Math.min(q.depth, 8)}rem`; return s; } },
    { head: 'Used of the partition', num: true, cell: (q) => bar(q.usedPercent, q.guaranteedPercent) }, { head: 'Used', num: true, cell: (q) => (any(q.used) ? amount(q.used) : '—') },
    { head: 'Guaranteed', num: true, cell: (q) => [percent(q.guaranteedPercent), any(q.guaranteed) ? el('span', { class: 'sub' }, amount(q.guaranteed)) : null] }, { head: 'At most', num: true, cell: (q) => [percent(q.maximumPercent), any(q.maximum) ? el('span', { class: 'sub' }, amount(q.maximum)) : null] },
    { head: 'Pending', num: true, cell: (q) => (any(q.pending) ? amount(q.pending) : '—') },
  ], queues, ''), p.moreQueues ? el('p', { class: 'soft' }, `${count(p.moreQueues, 'further queue')} ${p.moreQueues === 1 ? 'is' : 'are'} left out.`) : null);
}

function attributes(d) {
  const all = list(d.attribute);
  return [el('h2', {}, 'Attributes of nodes'), table([
    { head: 'Attribute', wide: true, cell: (a) => [el('span', { class: 'soft' }, `${a.prefix}/`), el('bdi', {}, a.name)] }, { head: 'Value', wide: true, cell: (a) => (a.value === '' ? el('span', { class: 'soft' }, 'without a value') : el('bdi', {}, a.value)) },
    { head: 'Hosts', num: true, cell: (a) => a.hosts.toLocaleString('en') },
    { head: 'Such as', wide: true, cell: (a) => list(a.host).slice(0, 5).map((h, i) => [i ? ', ' : '', el('a', { href: `/cluster/nodes?q=${encodeURIComponent(h)}` }, h)]) },
  ], all, ['No node has an attribute. Set one: ', el('code', {}, 'heddle nodeattributes -add "HOST:name=value"'), '.']), d.moreAttributes ? el('p', { class: 'soft' }, `${count(d.moreAttributes, 'further value')} ${d.moreAttributes === 1 ? 'is' : 'are'} left out.`) : null];
}

export function draw(d) {
  document.title = 'Labels – Heddle';
  const all = list(d.partition);
  const labels = all.filter((p) => p.name);
  const sum = (of) => all.reduce((n, p) => n + of(p), 0);
  return [
    el('h1', {}, 'Labels and partitions'),
    tiles([['labels', labels.length], ['nodes with a label', labels.reduce((n, p) => n + p.activeNodes, 0), sum((p) => p.activeNodes)], ['memory used', memory(sum((p) => p.used.memoryMB)), memory(sum((p) => p.total.memoryMB))],
      ['vcores used', sum((p) => p.used.vCores), sum((p) => p.total.vCores)]]),
    d.labelled ? null : el('p', { class: 'notice' }, 'Labels of nodes are off: all nodes are one partition. yarn.node-labels.enabled = true turns them on.'),
    table([
      { head: 'Label', wide: true, cell: (p) => el('a', { href: nodes(p.name) }, title(p)) },
      { head: 'Exclusive', cell: (p) => (p.name === '' ? '—' : p.exclusive ? ['yes', el('span', { class: 'sub' }, 'for those who ask for it')] : ['no', el('span', { class: 'sub' }, 'others may use it while it is idle')]) },
      { head: 'Nodes that work', num: true, cell: (p) => [p.activeNodes.toLocaleString('en'), p.name && p.nodes !== p.activeNodes ? el('span', { class: 'sub' }, `${p.nodes.toLocaleString('en')} on record`) : null] },
      { head: 'Use', num: true, cell: (p) => (any(p.total) ? bar(p.usedPercent) : '—') }, { head: 'Used', num: true, cell: (p) => (any(p.total) ? amount(p.used) : '—') }, { head: 'Has', num: true, cell: (p) => (any(p.total) ? amount(p.total) : '—') },
    ], all, ''),
    labels.length === 0 && d.labelled ? el('p', { class: 'soft' }, 'There is no label yet. Add one and give it to nodes: ', el('code', {}, 'heddle rmadmin -addToClusterNodeLabels "gpu(exclusive=true)"'), ', ', el('code', {}, 'heddle rmadmin -replaceLabelsOnNode "HOST=gpu"'), '.') : null,
    all.some((p) => list(p.queue).length) ? [el('h2', {}, 'Shares of queues'), all.map(shares)] : null,
    el('p', {}, el('a', { href: '/ws/v1/heddle/partitions?format=csv', download: 'partitions.csv' }, 'Download as CSV')),
    attributes(d),
  ];
}
