import { allowed, fetched, get, Refused, seldom } from '../api.js';
import { badge, bar, count, daemon, el, facts, link, list, logs, memory, span, table, tiles, time } from '../dom.js';
import { choice, wanted } from '../list.js';
import { ofNode } from '../nodeactions.js';
import { barOf, timeline } from '../timeline.js';
import { whoami } from '../who.js';

export const kinds = ['node', 'container', 'leadership'];

const spans = [['15', '15 minutes'], ['', '1 hour'], ['360', '6 hours'], ['1440', '1 day'], ['10080', '7 days']];
const most = 200; // rows of a table
const [tenSeconds, fiveSeconds] = [seldom(10e3), seldom(5e3)];

/** history asks for the containers of the last time. */
function history(at, signal) {
  const back = wanted().get('span');
  const path = `${at}/timeline${back ? `?span=${encodeURIComponent(back)}` : ''}`;
  return tenSeconds(path, () => allowed(get(path, signal)));
}

/** machine asks for the state of the machine. */
const machine = (at, signal) => fiveSeconds(at, () => allowed(get(`${at}/machine`, signal)));

export async function load(id, signal) {
  const at = `/ws/v1/heddle/nodes/${encodeURIComponent(id)}`;
  const [nodes, own, containers, ran, state, me] = await Promise.all([fetched(`/ws/v1/heddle/nodes?limit=100&q=${encodeURIComponent(id.replace(/:\d+$/, ''))}`, signal), get(`/ws/v1/cluster/nodes/${encodeURIComponent(id)}`, signal),
    allowed(fetched(`/ws/v1/heddle/containers?limit=${most}&sort=-allocated&node=${encodeURIComponent(id)}`, signal)), history(at, signal), machine(at, signal), whoami(null, signal).catch(() => null)]);
  const node = list(nodes.nodes.node).find((n) => n.id === id);
  if (!node) throw new Refused(404, `There is no node ${id}: it never registered, or was forgotten.`);
  return { node, own: own.node, containers, ran, state, me };
}

const amount = (a) => [memory(a.memoryMB), count(a.vCores, 'vcore'), ...list(a.other).map((o) => `${o.value} ${o.name}`)].join(', ');
const bytes = (n) => memory(n / 2 ** 20);

/** lanes name applications; those of one name are told apart by their ids. */
function laneOf(containers) {
  const ids = new Map();
  for (const c of containers) ids.set(c.name, (ids.get(c.name) ?? new Set()).add(c.applicationId));
  return (b) => (b.c.name && ids.get(b.c.name).size === 1 ? b.c.name : `${b.c.name || '(no name)'} · ${b.c.applicationId}`);
}

function overTime(answer, redraw) {
  const { timeline: t, refused } = answer;
  const head = el('h2', {}, 'Containers over time');
  if (refused) return el('section', { class: 'figure' }, head, el('p', { class: 'notice' }, refused));
  const containers = list(t.container).map((c) => ({ ...c, of: `${c.name || c.applicationId} of ${c.user}` }));
  const open = document.getElementById('ran-table')?.open;
  const first = Math.min(...containers.map((c) => c.asked ?? c.granted));
  const from = Math.max(t.from, first - (t.to - first) / 20); // the axis begins shortly before there was something
  const chosen = (spans.find(([s]) => s === (wanted().get('span') ?? ''))?.[1] ?? 'time').replace(/^1 /, '');
  return el('section', { class: 'figure' }, head, choice('span', 'Span of time', spans),
    containers.length === 0 ? el('div', { class: 'scroll' }, el('p', { class: 'none' }, `No container that you may see ran here in the last ${chosen}.`)) : [
      timeline({ id: 'ran', bars: containers.map((c) => barOf(c, t.to)), laneOf: laneOf(containers), row: containers.length > 150 ? 7 : 14, from, to: t.to, clock: true,
        label: `${count(containers.length, 'container')} of the last ${chosen}, by application. The arrow keys go from one to the next.` }),
      el('ul', { class: 'legend' }, [['soft', 'asked for'], ['busy', 'granted, being localized'], ['accent', 'running'], ['wait', 'suspended'], ['bad', 'ended badly']].map(([k, text]) => el('li', {}, el('i', { class: `key ${k}` }), text)))],
    t.hidden ? el('p', { class: 'soft' }, `${count(t.hidden, 'container')} of applications that you may not see ${t.hidden === 1 ? 'is' : 'are'} left out.`) : null,
    t.more ? el('p', { class: 'soft' }, `${count(t.more, 'older container')} ${t.more === 1 ? 'is' : 'are'} left out.`) : null,
    containers.length ? el('details', { id: 'ran-table', ontoggle: redraw }, el('summary', {}, 'As a table'), open ? [containers.length > most ? el('p', {}, `The newest ${most} of ${containers.length.toLocaleString('en')}.`) : null, table([
      { head: 'Container', cell: (c) => [c.live ? el('a', { href: `/cluster/container/${c.containerId}` }, c.containerId) : c.containerId, ' ', logs(c.containerId)] },
      { head: 'Application', wide: true, cell: (c) => el('a', { href: `/cluster/app/${c.applicationId}` }, el('bdi', { class: 'lines' }, c.name || c.applicationId)) }, { head: 'User', cell: (c) => el('bdi', {}, c.user) },
      { head: 'Granted', cell: (c) => time(c.granted) }, { head: 'Ran', num: true, cell: (c) => (c.started ? span((c.ended ?? t.to) - c.started) : '—') },
      { head: 'Suspended', num: true, cell: (c) => list(c.suspended).length || '—' }, { head: 'Exit status', num: true, cell: (c) => (c.live ? '—' : c.exitStatus) },
    ], containers.slice(-most).reverse(), '')] : null) : null);
}

const names = { cpu: 'CPU', memory: 'Memory', io: 'Disks' };
const percent = (p) => `${Number(p).toFixed(1)} %`;
const kind = { GOOD: 'good', FULL: 'wait', BAD: 'bad' };

/** ofMachine shows what the node says of its machine. */
function ofMachine({ machine: m, refused }) {
  if (refused) return el('section', {}, el('h2', {}, 'Machine'), el('p', { class: 'notice' }, refused));
  const pressure = list(m.pressure);
  return [el('div', { class: 'halves' },
    el('section', {}, el('h2', {}, 'Pressure'), table([
      { head: 'Waiting for', cell: (p) => names[p.resource] ?? p.resource },
      { head: 'Some, 10 s', num: true, cell: (p) => bar(p.some10) }, { head: '1 min', num: true, cell: (p) => percent(p.some60) }, { head: '5 min', num: true, cell: (p) => percent(p.some300) },
      { head: 'All, 10 s', num: true, cell: (p) => percent(p.full10) }, { head: '1 min', num: true, cell: (p) => percent(p.full60) },
    ], pressure, 'The kernel of this machine doesn’t tell its pressure (CONFIG_PSI).'),
    el('p', { class: 'soft small' }, 'The part of time in which some processes of the machine, or all of them, waited.')),
    el('section', {}, el('h2', {}, 'In use on the machine'), facts([
      ['CPU', m.cpuCores < 0 ? 'not measured yet' : [bar((100 * m.cpuCores) / Math.max(1, m.processors)), ` ${m.cpuCores.toFixed(1)} of ${count(m.processors, 'processor')}`]], ['Load', m.load.toFixed(2)],
      ['Memory', m.totalMemoryBytes ? [bar((100 * m.memoryBytes) / m.totalMemoryBytes), ` ${bytes(m.memoryBytes)} of ${bytes(m.totalMemoryBytes)}`] : ''],
      ['Swap', m.totalSwapBytes ? [bar((100 * m.swapBytes) / m.totalSwapBytes), ` ${bytes(m.swapBytes)} of ${bytes(m.totalSwapBytes)}`] : 'none'],
    ]))),
  el('h2', {}, 'Disks'), table([
    { head: 'Folder', wide: true, cell: (d) => el('bdi', {}, d.path) }, { head: 'For', cell: (d) => ({ 'local-dirs': 'files of containers', 'log-dirs': 'logs' }[d.kind] ?? d.kind) },
    { head: 'State', cell: (d) => el('span', { class: `badge ${kind[d.state] ?? 'busy'}` }, d.state) },
    { head: 'Used', num: true, cell: (d) => (d.totalBytes ? bar((100 * (d.totalBytes - d.freeBytes)) / d.totalBytes) : '—') }, { head: 'Free', num: true, cell: (d) => (d.totalBytes ? `${bytes(d.freeBytes)} of ${bytes(d.totalBytes)}` : '—') },
    { head: 'Problem', wide: true, cell: (d) => d.problem ?? '' },
  ], list(m.disk), 'The node names no folder.')];
}

function now(answer) {
  if (answer.refused) return el('p', { class: 'notice' }, answer.refused);
  const rows = list(answer.containers.container);
  return [answer.containers.matched > rows.length ? el('p', { class: 'soft' }, `The newest ${rows.length} of ${answer.containers.matched.toLocaleString('en')}.`) : null,
    table([
      { head: 'Container', cell: (c) => el('a', { href: `/cluster/container/${c.containerId}` }, c.containerId) }, { head: 'State', cell: (c) => badge(c.state) }, { head: 'User', cell: (c) => el('bdi', {}, c.user) },
      { head: 'Memory', num: true, cell: (c) => memory(c.resource.memory) }, { head: 'VCores', num: true, cell: (c) => c.resource.vCores }, { head: 'Granted', cell: (c) => time(c.allocatedTime) },
      { head: 'Started', cell: (c) => time(c.startedTime) }, { head: 'Logs', cell: (c) => logs(c.containerId) },
    ], rows, 'No container that you may see lives here.')];
}

const attributes = (own) => list(own.nodeAttributesInfo?.nodeAttributeInfo).map((a) => `${a.prefix}/${a.name} = ${a.value}`).join('; ');

export function draw({ node: n, own, containers, ran, state, me }, id, redraw) {
  document.title = `${id} – Heddle`;
  return [
    el('h1', {}, id),
    tiles([['memory used', memory(n.used.memoryMB), memory(n.total.memoryMB)], ['vcores used', n.used.vCores, n.total.vCores], ['containers', n.containers], ['suspended', n.suspendedContainers]]),
    facts([
      ['State', badge(n.state)], ['Leaves until', n.decommissionDeadline && n.state === 'DECOMMISSIONING' ? time(n.decommissionDeadline) : ''], ['Health', n.healthReport], ['Rack', n.rack],
      ['Use', bar(n.usePercent)], ['Used', `${amount(n.used)} of ${amount(n.total)}`],
      ['Label', list(own.nodeLabels).length ? el('a', { href: '/cluster/nodelabels' }, list(own.nodeLabels).join(', ')) : ''], ['Attributes', attributes(own)],
      ['Lent to short tasks', n.shortTasks ? `${memory(n.shortTasks.lent.memory)}, ${count(n.shortTasks.lent.vCores, 'vcore')}; ${n.shortTasks.waitingProbes} wait` : ''], ['Partition', n.partition],
      ['Registered', time(n.registered)], ['Version', [n.release ? `Heddle ${n.release}, ` : '', n.version]], ['Features', list(n.feature).join(', ')], ['Lacks', list(n.missing).join('; ')],
      ['Its own pages', n.httpAddress ? link(`${daemon(n.httpAddress)}/node`, n.httpAddress) : ''],
    ]),
    ofNode(n, me, redraw),
    overTime(ran, redraw),
    ofMachine(state),
    el('h2', {}, 'Containers now'), now(containers),
  ];
}
