import { get, optional, Refused } from '../api.js';
import { ofContainer } from '../actions.js';
import { whoami } from '../who.js';
import { badge, count, el, facts, link, logs, memory, span, time } from '../dom.js';

export const kinds = ['container', 'attempt', 'leadership'];

export async function load(id, signal) {
  const [, stamp, number, attempt] = /^container_(?:e\d+_)?(\d+)_(\d+)_(\d+)_\d+$/.exec(id) ?? [];
  if (!stamp) throw new Refused(404, `${id} is no container’s id, which is like container_1795273535172_0001_01_000001.`);
  const app = `application_${stamp}_${number}`;
  const owner = `appattempt_${stamp}_${number}_${attempt.padStart(6, '0')}`;
  const own = await optional(`/ws/v1/heddle/containers/${encodeURIComponent(id)}`, signal);
  try {
    const c = await get(`/ws/v1/cluster/apps/${app}/appattempts/${owner}/containers/${encodeURIComponent(id)}`, signal);
    return { app, owner, container: c.container ?? c, suspension: own?.container?.suspension, suspended: own?.container?.suspended, me: await whoami(app, signal).catch(() => null) };
  } catch (e) {
    if (e instanceof Refused && e.status === 404) return { app, owner, gone: e.message };
    throw e;
  }
}

/** suspended says for whom a container is suspended, since when, and what its node lacks for its return. */
function suspended(s) {
  if (!s) return [];
  return [['Suspended', s.since ? [time(s.since), ` for ${s.for || 'nobody on record'}`] : ''], ['How', s.text], ['So far', `${count(s.times, 'time')}, ${span(s.totalMs)} in all`]];
}

export function draw({ app, owner, container: c, suspension, suspended: stands, me, gone }, id, redraw) {
  document.title = `${id} – Heddle`;
  const belongs = [['Application', el('a', { href: `/cluster/app/${app}` }, app)], ['Attempt', el('a', { href: `/cluster/appattempt/${owner}` }, owner)]];
  if (gone) return [el('h1', {}, id), el('p', { class: 'notice' }, 'It has ended, or never was: the ResourceManager has no container of this id.'), facts([...belongs, ['Logs', logs(id)]])];
  return [
    el('h1', {}, id),
    facts([
      ['State', badge(c.containerState)], ...suspended(suspension), ...belongs,
      ['Node', link(c.nodeHttpAddress, c.assignedNodeId)], ['Resources', `${memory(Number(c.allocatedMB))}, ${count(c.allocatedVCores, 'vcore')}`],
      ['Priority', c.priority], ['Started', time(c.startedTime)], ['Finished', c.finishedTime ? time(c.finishedTime) : ''],
      ['Exit status', c.containerState === 'COMPLETE' ? c.containerExitStatus : ''], ['Logs', logs(id)], ['Diagnostics', c.diagnosticsInfo?.trim()],
    ]),
    c.containerState === 'COMPLETE' ? null : ofContainer(id, stands, me, redraw),
  ];
}
