import { get } from '../api.js';
import * as edit from './queueedit.js';
import { badge, bar, count, el, facts, list, memory, table } from '../dom.js';

export const kinds = ['application', 'attempt', 'node', 'queues', 'leadership'];

export async function load(view, signal) {
  if (view === 'edit') return edit.load(signal);
  return (await get('/ws/v1/cluster/scheduler', signal)).scheduler.schedulerInfo;
}

/** short leaves out the digits that a float of 32 bits makes up: 15.000001 is 15. */
export const short = (percent) => `${Number(Number(percent).toFixed(1))} %`;
export const amount = (r) => (r ? `${memory(r.memory)}, ${count(r.vCores ?? 0, 'vcore')}` : undefined);
export const path = (q) => q.queuePath ?? q.queueName ?? 'root';
const most = 2 ** 31 - 1;
export const limit = (n) => (n === undefined ? undefined : n >= most || n < 0 ? 'no limit' : n.toLocaleString('en'));
const lifetime = (s) => (s > 0 ? `${s.toLocaleString('en')} s` : undefined);

/** usage is what a queue uses in percent of the cluster, and where its guarantee ends. */
export function usage(q, cluster) {
  if (q.usedCapacity !== undefined) return { used: q.absoluteUsedCapacity ?? q.usedCapacity, guaranteed: q.absoluteCapacity ?? 100 };
  const share = (r) => (cluster?.memory ? (100 * (r?.memory ?? 0)) / cluster.memory : 0);
  return { used: share(q.usedResources), guaranteed: share(q.steadyFairResources) };
}

const partition = (q) => list(q.resources?.resourceUsagesByPartition)[0] ?? {};
export const below = (q) => [...list(q.queues?.queue), ...list(q.childQueues?.queue)];
const sum = (queues, of) => queues.reduce((n, q) => n + (of(q) ?? 0), 0);

/** capacity lists the figures of a queue of the CapacityScheduler. */
export function capacity(q) {
  const p = partition(q);
  return [
    ['Guaranteed', q.capacity === undefined ? '' : `${q.absoluteCapacity === undefined ? '' : `${short(q.capacity)} of its parent, `}${short(q.absoluteCapacity ?? 100)} of the cluster${q.minEffectiveCapacity ? `: ${amount(q.minEffectiveCapacity)}` : ''}`],
    ['At most', q.maxCapacity === undefined ? '' : `${short(q.absoluteMaxCapacity ?? q.maxCapacity)} of the cluster${q.maxEffectiveCapacity ? `: ${amount(q.maxEffectiveCapacity)}` : ''}`],
    ['Used', `${short(q.usedCapacity)} of its guarantee, ${short(q.absoluteUsedCapacity ?? q.usedCapacity)} of the cluster${q.resourcesUsed ? `: ${amount(q.resourcesUsed)}` : ''}`],
    ['Pending', q.pendingContainers === undefined ? '' : [count(q.pendingContainers, 'container'), p.pending?.memory ? `: ${amount(p.pending)}` : '']],
    ['Reserved', q.reservedContainers ? count(q.reservedContainers, 'container') : ''],
    ['Applications', q.numActiveApplications === undefined ? q.numApplications : `${q.numActiveApplications} active, ${q.numPendingApplications} waiting; at most ${limit(q.maxApplications)}, ${limit(q.maxApplicationsPerUser)} of a user`],
    ['At once', q.maxParallelApps >= most ? '' : limit(q.maxParallelApps)],
    ['ApplicationMasters', q.AMResourceLimit ? `${amount(q.usedAMResource)} of ${amount(q.AMResourceLimit)}` : ''],
    ['User limit', q.userLimit === undefined ? '' : `at least ${short(q.userLimit)} of the queue, at most ${q.userLimitFactor} × its guarantee`],
    ['Order', q.orderingPolicyInfo], ['Priority', q.queuePriority || ''], ['Labels', list(q.nodeLabels).filter((l) => l !== '*').join(', ')],
    ['Preemption', q.preemptionDisabled === undefined ? '' : q.preemptionDisabled ? 'takes nothing from it' : 'may take from it'],
    ['Lifetime', [lifetime(q.defaultApplicationLifetime) && `${lifetime(q.defaultApplicationLifetime)} by default`, lifetime(q.maxApplicationLifetime) && `at most ${lifetime(q.maxApplicationLifetime)}`].filter(Boolean).join(', ')],
  ];
}

/** fair lists the figures of a queue of the FairScheduler. */
export function fair(q) {
  return [
    ['Used', amount(q.usedResources)], ['Fair share', q.fairResources && `${amount(q.fairResources)} now, ${amount(q.steadyFairResources)} if all queues were busy`],
    ['Demand', amount(q.demandResources)], ['Minimum', amount(q.minResources)], ['At most', amount(q.maxResources)], ['Largest container', amount(q.maxContainerAllocation)],
    ['Pending', q.pendingContainers === undefined ? '' : count(q.pendingContainers, 'container')], ['Reserved', q.reservedContainers ? count(q.reservedContainers, 'container') : ''],
    ['Containers', q.allocatedContainers],
    ['Applications', q.numActiveApps === undefined ? '' : `${q.numActiveApps} active, ${q.numPendingApps} waiting; at most ${limit(q.maxApps)} at once`],
    ['ApplicationMasters', q.amUsedResources && `${amount(q.amUsedResources)} of ${amount(q.amMaxResources)}`],
    ['Policy', q.schedulingPolicy], ['Preemption', q.preemptable === undefined ? '' : q.preemptable ? 'may take from it' : 'takes nothing from it'],
  ];
}

export function users(q) {
  const all = list(q.users?.user);
  return all.length === 0 ? null : table([
    { head: 'User', cell: (u) => el('a', { href: `/cluster/apps?user=${encodeURIComponent(u.username)}&queue=${encodeURIComponent(path(q))}` }, el('bdi', {}, u.username)) },
    { head: 'Uses', num: true, cell: (u) => amount(u.resourcesUsed) },
    { head: 'Limit now', num: true, cell: (u) => amount(u.userResourceLimit) },
    { head: 'Pending', num: true, cell: (u) => { const p = list(u.resources?.resourceUsagesByPartition)[0]?.pending; return p?.memory ? amount(p) : '—'; } },
    { head: 'Active', num: true, cell: (u) => u.numActiveApplications },
    { head: 'Waiting', num: true, cell: (u) => u.numPendingApplications },
    { head: 'ApplicationMasters', num: true, cell: (u) => amount(u.AMResourceUsed) },
    { head: 'Weight', num: true, cell: (u) => u.userWeight },
  ], all, '');
}

/** waits is how many containers wait in a queue and those below it. */
export const waits = (q) => q.pendingContainers ?? sum(below(q), waits);

/** lives is how many applications live in a queue and those below it. */
export const lives = (q) => q.numApplications ?? (q.numActiveApps === undefined ? sum(below(q), lives) : q.numActiveApps + q.numPendingApps);

/** queue draws a queue and those below it, whichever scheduler described it. */
function queue(q, depth, cluster) {
  const children = below(q);
  const u = usage(q, cluster);
  const pending = waits(q);
  return el('details', { open: depth < 3, id: `queue-${path(q)}` },
    el('summary', {}, el('b', {}, path(q)), el('span', {}, bar(u.used, u.guaranteed), el('small', {}, ` of the cluster, ${short(u.guaranteed)} guaranteed`)),
      pending ? el('span', { class: 'wait' }, `${count(pending, 'container')} pending`) : null, q.state && q.state !== 'RUNNING' ? badge(q.state) : null,
      el('span', { class: 'soft' }, count(lives(q), 'application'))),
    facts([...(q.usedCapacity === undefined ? fair(q) : capacity(q)), ['See', [el('a', { href: `/cluster/queue/${encodeURIComponent(path(q))}` }, 'its history'), ', ', el('a', { href: `/cluster/apps?queue=${encodeURIComponent(path(q))}` }, 'its applications')]]]), users(q),
    children.length ? el('div', { class: 'tree' }, children.map((c) => queue(c, depth + 1, cluster))) : null);
}

const views = (now) => el('nav', { class: 'chips', 'aria-label': 'Views' }, [['', 'As they are'], ['edit', 'Edit']].map(([view, text]) => el('a', { href: `/cluster/scheduler${view ? '/edit' : ''}`, 'aria-current': now === view ? 'page' : null }, text)));

export function draw(info, view, redraw) {
  document.title = `${view === 'edit' ? 'Edit queues' : 'Queues'} – Heddle`;
  if (info.edit) return edit.draw(info, redraw, views('edit'));
  const root = info.rootQueue ?? info;
  const kind = { capacityScheduler: 'CapacityScheduler', fairScheduler: 'FairScheduler', fifoScheduler: 'FifoScheduler' }[info.type] ?? info.type ?? '';
  return [el('h1', {}, 'Queues ', el('small', {}, kind)), kind === 'CapacityScheduler' ? views('') : null, queue(root, 0, root.maxResources ?? root.clusterResources)];
}
