import { get, optional, Refused } from '../api.js';
import { ofApplication } from '../actions.js';
import * as times from './apptimeline.js';
import { whoami } from '../who.js';
import { badge, bar, count, daemon, el, facts, link, list, logs, memory, span, table, time, words } from '../dom.js';

/** reasons says why an application waits, or why that isn't shown: who asks may have no right to see it. */
async function reasons(id, signal) {
  try {
    return (await get(`/ws/v1/heddle/apps/${encodeURIComponent(id)}/pending`, signal)).pending;
  } catch (e) {
    if (e instanceof Refused) return e.status === 401 || e.status === 403 ? { hidden: e.message } : null;
    throw e;
  }
}

export async function load(id, signal) {
  const base = `/ws/v1/cluster/apps/${encodeURIComponent(id)}`;
  const [app, attempts, why, receipt, me, timeline] = await Promise.all([get(base, signal), get(`${base}/appattempts`, signal),
    reasons(id, signal), optional(`/ws/v1/heddle/apps/${encodeURIComponent(id)}/receipt`, signal), whoami(id, signal).catch(() => null), optional(`/ws/v1/heddle/apps/${encodeURIComponent(id)}/timeline`, signal)]);
  return { app: app.app, attempts: list(attempts.appAttempts?.appAttempt), why, me, receipt: receipt?.receipt, timeline: timeline?.timeline };
}

function lasted(a) {
  return a.startedTime > 0 ? span(a.elapsedTime || (a.finishedTime || Date.now()) - a.startedTime) : '';
}

/** explanation says what holds each request that waits. */
function explanation(why) {
  const waiting = list(why?.reason);
  return waiting.length === 0 ? null : [el('h2', {}, 'What it waits for'), table([
    { head: 'Priority', num: true, cell: (w) => w.priority },
    { head: 'Containers', num: true, cell: (w) => w.numContainers },
    { head: 'Size', cell: (w) => `${memory(w.capability.memory)}, ${count(w.capability.vCores, 'vcore')}` },
    { head: 'Where', cell: (w) => w.resourceName },
    { head: 'Held by', cell: (w) => el('span', { class: 'badge wait' }, w.limit) },
    { head: 'Why not yet', wide: true, cell: (w) => words(w.reason) },
    { head: 'What would free it', wide: true, cell: (w) => w.remedy ?? '' },
  ], waiting, '')];
}

/** spent says where the application's time went. */
function spent(receipt) {
  const parts = list(receipt?.part);
  const whom = (s) => (s.queue ? ` for queue ${s.queue}` : s.user ? ` by user ${s.user}` : ''); // what holds a wait is said above
  return parts.length === 0 ? null : [el('h2', {}, 'Where its time went'), table([
    { head: 'Step', cell: (p) => words(p.kind + (p.detail ? ` (${p.detail})` : '')) },
    { head: 'Time', num: true, cell: (p) => `${(p.ms / 1000).toFixed(1)} s` },
    { head: 'Share', wide: true, cell: (p) => bar(100 * p.ms / Math.max(1, receipt.totalMs)) },
  ], parts, ''), el('details', {}, el('summary', {}, 'Step by step'), table([
    { head: 'From', num: true, cell: (s) => `${((s.from - receipt.from) / 1000).toFixed(1)} s` },
    { head: 'To', num: true, cell: (s) => `${((s.to - receipt.from) / 1000).toFixed(1)} s` },
    { head: 'Step', cell: (s) => words(s.kind + (whom(s) || (s.detail ? ` (${s.detail})` : ''))) },
    { head: 'Container', cell: (s) => s.containerId ?? '' },
    { head: 'Node', wide: true, cell: (s) => s.nodeId ?? '' },
  ], list(receipt.step), ''))];
}

/** diagnostics says what holds the application now, and then what else its diagnostics have: they name the same holds, perhaps a moment earlier. */
function diagnostics(a, why) {
  const now = !a.finishedTime && why?.summary && why.summary !== 'waits for nothing' ? why.summary : '';
  const bare = (text) => text.toLowerCase().replace(/ \d+ s\b/g, '').replace(/^(application|container) /, '').trim();
  const others = (a.diagnostics ?? '').split('\n').filter((line) => !bare(now).includes(bare(line)));
  return (now ? [now, ...others] : [a.diagnostics ?? '']).join('\n').trim();
}

export function draw({ app: a, attempts, why, receipt, me, timeline }, _, redraw) {
  document.title = `${a.name} – Heddle`;
  return [
    el('h1', {}, el('bdi', {}, a.name), ' ', el('small', {}, a.id)), // a name may have characters that would turn the id round
    facts([
      ['State', badge(a.state)], ['Final status', badge(a.finalStatus)], ['Progress', bar(a.progress)],
      ['User', a.user], ['Queue', a.queue], ['Type', a.applicationType], ['Tags', a.applicationTags], ['Priority', a.priority],
      ['Started', time(a.startedTime)], ['Finished', a.finishedTime ? time(a.finishedTime) : ''], ['Lasted', lasted(a)],
      ['Tracking', link(a.trackingUrl, a.trackingUI)],
      ['Master on', a.amHostHttpAddress ? link(daemon(a.amHostHttpAddress), a.amHostHttpAddress) : ''],
      ['Logs', a.finishedTime ? logs(a.id, 'of all containers') : ''],
      ['Running', `${count(Math.max(0, a.runningContainers), 'container')}, ${memory(Math.max(0, a.allocatedMB))}, ${count(Math.max(0, a.allocatedVCores), 'vcore')}`],
      ['Used in all', `${a.memorySeconds} MB·s, ${a.vcoreSeconds} vcore·s`],
      ['Why it waits', why?.hidden], ['Diagnostics', diagnostics(a, why)],
    ]),
    ofApplication(a, me, redraw),
    explanation(why),
    times.draw(timeline, redraw),
    spent(receipt),
    el('h2', {}, 'Attempts'),
    table([
      { head: 'Attempt', cell: (t) => el('a', { href: `/cluster/appattempt/${t.appAttemptId ?? t.id}` }, t.appAttemptId ?? t.id) },
      { head: 'Started', cell: (t) => time(t.startTime) },
      { head: 'Master’s container', cell: (t) => (!t.containerId ? '—' : a.finishedTime || t.finishedTime ? t.containerId : el('a', { href: `/cluster/container/${t.containerId}` }, t.containerId)) },
      { head: 'Node', cell: (t) => (t.nodeHttpAddress ? link(daemon(t.nodeHttpAddress), t.nodeHttpAddress) : '—') },
      { head: 'Logs', wide: true, cell: (t) => (t.containerId ? logs(t.containerId) : '—') },
    ], attempts, 'No attempt has begun.'),
  ];
}
