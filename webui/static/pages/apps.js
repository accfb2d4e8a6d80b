import { get } from '../api.js';
import { badge, bar, count, el, link, memory, span, tiles, time, whole, words } from '../dom.js';
import { actions, pick } from '../several.js';
import { known, whoami } from '../who.js';
import { shown, views } from '../views.js';
import { choice, field, load as loadList, nothing, pager, rows, wanted } from '../list.js';

const things = ['application'];
export const kinds = ['application', 'attempt', 'leadership'];

export async function load(state, signal) {
  // the paths of YARN's pages have the state in them: /cluster/apps/RUNNING
  const [metrics, apps] = await Promise.all([get('/ws/v1/cluster/metrics', signal), loadList('apps', signal, state ? { state } : {}), known() ?? whoami(null, signal).catch(() => null)]);
  return { metrics: metrics.clusterMetrics, apps: { ...apps.apps, rows: apps.apps.app ?? [] } };
}

const columns = [
  { head: 'Application', sort: 'name', row: true, wide: true, cell: (a) => [el('a', { href: `/cluster/app/${a.id}` }, el('bdi', { class: 'lines', title: a.name.length > 80 ? a.name : null }, a.name || '(no name)')), el('span', { class: 'sub id' }, a.id)] },
  { head: 'User', sort: 'user', clip: true, cell: (a) => el('bdi', {}, a.user) },
  { head: 'Queue', sort: 'queue', clip: true, cell: (a) => a.queue },
  { head: 'State', sort: 'state', cell: (a) => [badge(a.state), a.state === 'FINISHED' && a.finalStatus !== 'SUCCEEDED' ? el('span', { class: 'sub' }, a.finalStatus) : null] },
  { head: 'Started', sort: 'started', newest: true, cell: (a) => (a.hidden ? '—' : time(a.started)) },
  { head: 'Lasted', num: true, cell: (a) => (a.started ? span((a.finished || Date.now()) - a.started) : '—') },
  { head: 'Holds', sort: 'memory', num: true, cell: (a) => (a.containers > 0 ? [memory(a.used.memoryMB), el('span', { class: 'sub' }, `in ${count(a.containers, 'container')}`)] : '—') },
  { head: 'Progress and what it waits for', wide: true, cell: (a) => [a.state === 'RUNNING' || a.finished ? bar(a.progress) : null, a.why ? el('span', { class: 'sub' }, words(a.why)) : null] },
  { head: 'Type', sort: 'type', cell: (a) => [a.type, el('span', { class: 'sub' }, a.trackingUrl ? link(a.trackingUrl, a.finished ? 'History' : 'Tracking') : '')] },
];

const n = (l, state) => l.count?.find((c) => c.state === state)?.number ?? 0;

export function draw({ metrics: m, apps }, state, redraw) {
  const there = whole(m);
  const may = known()?.named; // whether a change is admitted the server says for each application
  document.title = `${state || wanted().get('state') || 'Applications'} – Heddle`;
  const all = (apps.count ?? []).reduce((sum, c) => sum + c.number, 0);
  return [
    el('h1', {}, 'Applications'),
    tiles([
      ['running', m.appsRunning], ['waiting', m.appsPending], ['ended', m.appsCompleted + m.appsFailed + m.appsKilled],
      ['containers', there.containers], ['containers wanted', m.containersPending],
      ['memory used', memory(there.usedMB), memory(there.totalMB)],
      ['vcores used', there.usedVCores, there.totalVCores],
      ['nodes active', m.lostNodes + m.unhealthyNodes ? `${m.activeNodes} (${m.lostNodes + m.unhealthyNodes} not)` : m.activeNodes],
    ]),
    state ? null : choice('state', 'State', [['', `All (${all.toLocaleString('en')})`], ...(apps.count ?? []).map((c) => [c.state, `${c.state} (${n(apps, c.state).toLocaleString('en')})`])]),
    el('div', { class: 'filters', role: 'search' },
      field('q', 'Search', { type: 'search', placeholder: 'id, name, user, queue, type' }), field('user', 'User'), field('queue', 'Queue and those below'), field('tag', 'Tag')),
    views(columns, redraw),
    may ? actions() : null,
    apps.rows.length ? rows(may ? [pick(apps.rows, redraw), ...shown(columns)] : shown(columns), apps.rows, { key: (a) => a.id, first: '-started', caption: 'Applications' })
      : nothing(apps, ['No applications. Submit one: ', el('code', {}, 'heddle xargs'), ', ', el('code', {}, 'hadoop jar'), ' or ', el('code', {}, 'spark-submit'), '.'], things),
    pager(apps, things),
  ];
}
