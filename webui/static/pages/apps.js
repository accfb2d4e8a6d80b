import { get } from '../api.js';
import { badge, bar, el, link, list, memory, span, table, tiles, time } from '../dom.js';

const states = ['NEW', 'NEW_SAVING', 'SUBMITTED', 'ACCEPTED', 'RUNNING', 'FINISHED', 'FAILED', 'KILLED'];
let wanted = '';

export async function load(state, signal) {
  const query = state ? `?states=${encodeURIComponent(state)}` : '';
  const [metrics, apps] = await Promise.all([get('/ws/v1/cluster/metrics', signal), get(`/ws/v1/cluster/apps${query}`, signal)]);
  return { metrics: metrics.clusterMetrics, apps: list(apps.apps?.app) };
}

const text = (a) => [a.id, a.name, a.user, a.queue, a.applicationType, a.state, a.finalStatus].join(' ').toLowerCase();

export function draw({ metrics: m, apps }, state, redraw) {
  document.title = `${state || 'Applications'} – Heddle`;
  const rows = apps.filter((a) => text(a).includes(wanted.toLowerCase())).sort((a, b) => b.startedTime - a.startedTime || b.id.localeCompare(a.id));
  const filter = el('input', { id: 'filter', type: 'search', placeholder: 'Filter by id, name, user, queue…', 'aria-label': 'Filter applications',
    oninput: (e) => { wanted = e.target.value; redraw(); } });
  filter.value = wanted;
  return [
    tiles([
      ['applications running', m.appsRunning], ['applications waiting', m.appsPending], ['applications ended', m.appsCompleted + m.appsFailed + m.appsKilled],
      ['containers', m.containersAllocated], ['containers wanted', m.containersPending],
      ['memory used', `${memory(m.allocatedMB)} / ${memory(m.totalMB)}`],
      ['vcores used', `${m.allocatedVirtualCores} / ${m.totalVirtualCores}`],
      ['nodes active', m.lostNodes + m.unhealthyNodes ? `${m.activeNodes} (${m.lostNodes + m.unhealthyNodes} not)` : m.activeNodes],
    ]),
    el('div', { class: 'chips' }, el('a', { href: '/cluster/apps', 'aria-current': state ? null : 'page' }, 'ALL'),
      states.map((s) => el('a', { href: `/cluster/apps/${s}`, 'aria-current': s === state ? 'page' : null }, s)), filter),
    table([
      { head: 'Application', cell: (a) => el('a', { href: `/cluster/app/${a.id}` }, a.id) },
      { head: 'Name', wide: true, cell: (a) => a.name },
      { head: 'User', cell: (a) => a.user },
      { head: 'Type', cell: (a) => a.applicationType },
      { head: 'Queue', cell: (a) => a.queue },
      { head: 'Started', cell: (a) => time(a.startedTime) },
      { head: 'Lasted', num: true, cell: (a) => (a.startedTime ? span((a.finishedTime || Date.now()) - a.startedTime) : '—') },
      { head: 'State', cell: (a) => badge(a.state) },
      { head: 'Final status', cell: (a) => badge(a.finalStatus) },
      { head: 'Holds', cell: (a) => (a.runningContainers > 0 ? `${memory(a.allocatedMB)} in ${a.runningContainers}` : '—') },
      { head: 'Progress', cell: (a) => bar(a.progress) },
      { head: 'Tracking', cell: (a) => link(a.trackingUrl, a.trackingUI && a.trackingUI !== 'UNASSIGNED' ? a.trackingUI : '') },
    ], rows, wanted ? `No application matches “${wanted}”.` : 'No applications.'),
  ];
}
