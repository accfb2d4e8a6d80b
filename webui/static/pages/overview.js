import { allowed, get, fetched } from '../api.js';
import { badge, count, el, list, memory, tiles, time, whole, words } from '../dom.js';
import { chart } from '../chart.js';
import { begin, choices, doubled, history, span, spanText, values, vcores } from '../past.js';

export const kinds = ['node', 'queues', 'leadership'];

const most = 8; // queues that have a colour of their own

/** both are what the whole and each queue below root have used. */
async function both(signal) {
  const [all, queues] = await Promise.all([history('', signal), history(`of=queues&below=root&limit=${most}`, signal)]);
  return { all, queues };
}

export async function load(_, signal) {
  const [metrics, past, waiting, nodes, container, events] = await Promise.all([get('/ws/v1/cluster/metrics', signal), allowed(both(signal)), allowed(fetched('/ws/v1/heddle/waiting?limit=5', signal)),
    allowed(fetched('/ws/v1/heddle/nodes?state=LOST,UNHEALTHY,DECOMMISSIONING&limit=5', signal)), allowed(get('/ws/v1/heddle/events?kind=container&limit=8', signal)),
    allowed(get('/ws/v1/heddle/events?kind=application,attempt,node,queues,leadership&limit=12', signal))]);
  return { m: metrics.clusterMetrics, past, waiting, nodes, container, events };
}

/** use is what queues have used, stacked, below what there was. */
function use({ all, queues }, what, title, format) {
  const n = Math.min(all.time?.length ?? 0, queues.time?.length ?? 0);
  const total = values(all.series?.[0], `used${what}`, n);
  const shown = list(queues.series).map((s) => ({ name: s.name, values: values(s, `used${what}`, n) })).sort((a, b) => (a.name < b.name ? -1 : 1));
  const series = shown.slice(0, most).map((s, i) => ({ ...s, colour: `--q${Math.min(i + 1, most)}` }));
  const rest = total.slice(0, n).map((v, i) => Math.max(0, v - series.reduce((sum, s) => sum + s.values[i], 0)));
  if (queues.more || rest.some((v) => v > 0)) series.push({ name: 'other queues', values: rest, colour: '--edge' });
  series.push({ name: 'all there is', values: values(all.series?.[0], `guaranteed${what}`, n), colour: '--ink', line: true });
  const last = n ? `${format(total[n - 1])} of ${format(series.at(-1).values[n - 1])}` : 'nothing';
  return { title, times: (all.time ?? []).slice(0, n), from: begin(all), to: all.to, series, format, label: `${title} over the last ${spanText()}. Now ${last}. The arrow keys go from point to point.`,
    csv: `/ws/v1/heddle/history?of=queues&below=root&limit=200&from=${span()}&format=csv` };
}

/** waited is what was waited for and what was suspended. */
function waited({ all }) {
  const n = all.time?.length ?? 0;
  const s = all.series?.[0];
  return { id: 'waited', title: 'Memory waited for, and suspended', times: all.time ?? [], from: begin(all), to: all.to, format: memory, least: 1024, steps: doubled, label: 'Memory that requests wait for, and memory of suspended containers. The arrow keys go from point to point.',
    series: [{ name: 'waited for', values: values(s, 'pendingMB', n), colour: '--q2', line: true }, { name: 'suspended', values: values(s, 'suspendedMB', n), colour: '--q3', line: true }],
    csv: `/ws/v1/heddle/history?from=${span()}&format=csv` };
}

const refused = (x) => el('p', { class: 'notice' }, x.refused);
const none = (text) => el('p', { class: 'soft' }, text);
const to = (app, name) => el('a', { href: `/cluster/app/${app}` }, el('bdi', { class: 'lines' }, name || app));

function waits(x) {
  if (x.refused) return refused(x);
  const apps = list(x.waiting.app);
  if (apps.length === 0) return none('No application waits: all have what they have asked for.');
  return [el('ul', { class: 'news' }, apps.map((a) => el('li', { 'data-key': a.id }, to(a.id, a.name), ' ', el('span', { class: 'soft' }, ['of ', el('bdi', {}, a.user), ' in ', el('bdi', {}, a.queue)]),
    el('span', { class: 'sub' }, words(a.summary || a.hold?.[0]?.reason || 'waits'))))), x.waiting.matched > apps.length ? el('p', {}, el('a', { href: '/cluster/waiting' }, `All ${x.waiting.matched.toLocaleString('en')}`)) : null];
}

function ill(x) {
  if (x.refused) return refused(x);
  const nodes = list(x.nodes.node);
  if (nodes.length === 0) return none('No node is lost, unhealthy or leaving.');
  return [el('ul', { class: 'news' }, nodes.map((n) => el('li', { 'data-key': n.id }, badge(n.state), ' ', n.id, n.healthReport ? el('span', { class: 'sub' }, n.healthReport) : null))),
    x.nodes.matched > nodes.length ? el('p', {}, el('a', { href: '/cluster/nodes?state=LOST,UNHEALTHY,DECOMMISSIONING' }, `All ${x.nodes.matched.toLocaleString('en')}`)) : null];
}

/** said is an event in one line. */
function said(e) {
  const what = { queues: 'Queues were configured', leadership: `${e.subject} leads` }[e.kind];
  if (what) return what;
  if (e.kind === 'node') return [e.subject ?? 'Nodes', ` ${e.what} `, e.state ? badge(e.state) : ''];
  if (e.kind === 'application') return [to(e.applicationId, e.name), ` ${e.what} `, e.state ? badge(e.state) : ''];
  return [el('a', { href: `/cluster/${e.kind === 'container' ? 'container' : 'appattempt'}/${e.subject}` }, e.subject), ` ${e.what} `, e.state ? badge(e.state === 'FROZEN' ? 'SUSPENDED' : e.state) : ''];
}

function happened(x, empty) {
  if (x.refused) return refused(x);
  const events = list(x.events.event).toReversed();
  return events.length === 0 ? none(empty) : el('ul', { class: 'news' }, events.map((e) => el('li', { 'data-key': e.id }, time(e.time), ' ', said(e), e.detail ? el('span', { class: 'sub lines' }, e.detail) : null)));
}

export function draw({ m, past, waiting, nodes, container, events }, _, redraw) {
  document.title = 'Overview – Heddle';
  const there = whole(m);
  const off = m.lostNodes + m.unhealthyNodes;
  return [
    el('h1', {}, 'Overview'),
    tiles([['memory used', memory(there.usedMB), memory(there.totalMB)], ['vcores used', there.usedVCores, there.totalVCores], ['containers', there.containers], ['containers wanted', m.containersPending],
      ['applications running', m.appsRunning], ['applications waiting', m.appsPending], ['nodes active', m.activeNodes], ['nodes lost or unhealthy', off]]),
    past.refused ? refused(past) : [
      el('div', { class: 'choices' }, choices()),
      chart({ ...(vcores() ? use(past, 'VCores', 'VCores by queue', (v) => count(Math.round(v), 'vcore')) : { ...use(past, 'MB', 'Memory by queue', memory), steps: doubled }), id: 'use', redraw }), chart({ ...waited(past), redraw })],
    el('div', { class: 'halves' },
      el('section', {}, el('h2', {}, 'What waits, and why'), waits(waiting)), el('section', {}, el('h2', {}, 'Nodes that are not well'), ill(nodes)),
      el('section', {}, el('h2', {}, el('a', { href: '/cluster/preemptions' }, 'Last suspensions')), happened(container, 'No container was suspended or shrunk lately.')), el('section', {}, el('h2', {}, 'What happened last'), happened(events, 'Nothing is remembered.'))),
  ];
}
