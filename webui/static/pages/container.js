import { get } from '../api.js';
import { badge, count, el, facts, link, memory, time } from '../dom.js';

export async function load(id, signal) {
  const [, stamp, number, attempt] = /^container_(?:e\d+_)?(\d+)_(\d+)_(\d+)_\d+$/.exec(id) ?? [];
  if (!stamp) throw new Error(`${id} is no container's id`);
  const app = `application_${stamp}_${number}`;
  const owner = `appattempt_${stamp}_${number}_${attempt.padStart(6, '0')}`;
  const c = await get(`/ws/v1/cluster/apps/${app}/appattempts/${owner}/containers/${encodeURIComponent(id)}`, signal);
  return { app, owner, container: c.container ?? c };
}

export function draw({ app, owner, container: c }, id) {
  document.title = `${id} – Heddle`;
  return [
    el('h1', {}, id),
    facts([
      ['State', badge(c.containerState)],
      ['Application', el('a', { href: `/cluster/app/${app}` }, app)], ['Attempt', el('a', { href: `/cluster/appattempt/${owner}` }, owner)],
      ['Node', link(c.nodeHttpAddress, c.assignedNodeId)], ['Resources', `${memory(Number(c.allocatedMB))}, ${count(c.allocatedVCores, 'vcore')}`],
      ['Priority', c.priority], ['Started', time(c.startedTime)], ['Finished', c.finishedTime ? time(c.finishedTime) : ''],
      ['Exit status', c.containerState === 'COMPLETE' ? c.containerExitStatus : ''], ['Logs', link(c.logUrl, 'logs')], ['Diagnostics', c.diagnosticsInfo?.trim()],
    ]),
  ];
}
