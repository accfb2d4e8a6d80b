import { get } from '../api.js';
import { badge, bar, el, facts, list, memory } from '../dom.js';

export async function load(_, signal) {
  return (await get('/ws/v1/cluster/scheduler', signal)).scheduler.schedulerInfo;
}

/** short leaves out the digits that a float of 32 bits makes up: 15.000001 is 15. */
const short = (percent) => Number(Number(percent).toFixed(3));

/** queue draws a queue and those below it, whichever scheduler described it. */
function queue(q, depth) {
  const children = [...list(q.queues?.queue), ...list(q.childQueues?.queue ?? q.childQueues)];
  const used = q.usedCapacity ?? (q.maxResources?.memory ? (100 * q.usedResources.memory) / q.maxResources.memory : null);
  return el('details', { open: depth < 3 },
    el('summary', {}, el('b', {}, q.queuePath ?? q.queueName ?? 'root'), ' ', used === null ? null : bar(used), ' ', q.state ? badge(q.state) : null),
    facts([
      ['Capacity', q.capacity === undefined ? '' : `${short(q.capacity)} % (at most ${short(q.maxCapacity)} %)`],
      ['Used', q.usedCapacity === undefined ? '' : `${short(q.usedCapacity)} % of its capacity, ${short(q.absoluteUsedCapacity ?? q.usedCapacity)} % of the cluster`],
      ['Applications', q.numApplications ?? q.numActiveApps],
      ['Containers', q.numContainers], ['Resources', q.resourcesUsed ? `${memory(q.resourcesUsed.memory)}, ${q.resourcesUsed.vCores} vcores` : ''],
    ]),
    children.length ? el('div', { class: 'tree' }, children.map((c) => queue(c, depth + 1))) : null);
}

export function draw(info) {
  document.title = 'Queues – Heddle';
  return [el('h1', {}, `Queues (${info.type ?? 'scheduler'})`), queue(info.rootQueue ?? info, 0)];
}
