import { get } from '../api.js';
import { badge, count, el, list, memory, span, table, time } from '../dom.js';

export const kinds = ['container', 'leadership'];

export async function load(_, signal) {
  const [made, suspended] = await Promise.all([get('/ws/v1/heddle/preemptions', signal), get('/ws/v1/heddle/containers?suspended=true&sort=suspendedSince&limit=200', signal)]);
  return { made: list(made.preemptions?.preemption), suspended: suspended.containers };
}

const to = (id) => el('a', { href: `/cluster/container/${id}` }, id);
const ms = (v) => (v === undefined || v === null ? 'unknown' : v < 10_000 ? `${(v / 1000).toFixed(1)} s` : span(v));
const price = (p) => (p ? [ms(p.roomMs), p.lostMs ? el('span', { class: 'sub' }, `${ms(p.lostMs)} of work lost`) : null] : '');

export function draw({ made, suspended }) {
  document.title = 'Preemptions – Heddle';
  const now = list(suspended.container);
  return [
    el('h1', {}, 'Preemptions and suspensions'),
    el('h2', {}, 'Suspended now'),
    suspended.matched > now.length ? el('p', { class: 'soft' }, `The first ${now.length} of ${suspended.matched.toLocaleString('en')}.`) : null,
    table([
      { head: 'Container', cell: (c) => to(c.containerId) }, { head: 'State', cell: (c) => badge(c.state) }, { head: 'Of', cell: (c) => el('bdi', {}, c.user) }, { head: 'For', wide: true, cell: (c) => c.suspension?.for ?? '—' },
      { head: 'Since', cell: (c) => time(c.suspension?.since) }, { head: 'So far', num: true, cell: (c) => (c.suspension ? [span(c.suspension.totalMs), el('span', { class: 'sub' }, count(c.suspension.times, 'time'))] : '—') },
      { head: 'Claim', num: true, cell: (c) => `${memory(c.resource.memory)}, ${count(c.resource.vCores, 'vcore')}` }, { head: 'Keeps', num: true, cell: (c) => `${memory(c.held.memory)}, ${count(c.held.vCores, 'vcore')}` },
      { head: 'How', wide: true, cell: (c) => c.suspension?.text ?? '' },
    ], now, 'No container that you may see is suspended.'),
    el('h2', {}, 'Last decisions, and what came of them'),
    table([
      { head: 'When', cell: (p) => time(p.time) }, { head: 'Container', cell: (p) => [to(p.containerId), el('span', { class: 'sub' }, p.nodeId)] },
      { head: 'For queue', cell: (p) => [p.queue, p.applicationId ? el('span', { class: 'sub' }, el('a', { href: `/cluster/app/${p.applicationId}` }, p.applicationId)) : null] },
      { head: 'Quoted: waiting', num: true, cell: (p) => price(p.quote?.wait) }, { head: 'Suspending', num: true, cell: (p) => price(p.quote?.suspend) }, { head: 'Killing', num: true, cell: (p) => price(p.quote?.kill) },
      { head: 'It took', num: true, cell: (p) => (p.refused ? badge('FAILED') : ms(p.tookMs)) }, { head: 'Paged out', num: true, cell: (p) => (p.movedBytes === undefined ? '—' : memory(p.movedBytes / 2 ** 20)) },
      { head: 'Lasted', num: true, cell: (p) => (p.lastedMs === undefined ? '—' : ms(p.lastedMs)) }, { head: 'Return took', num: true, cell: (p) => (p.backMs === undefined ? '—' : ms(p.backMs)) },
      { head: 'Why', wide: true, cell: (p) => p.reason ?? '' },
    ], made, 'This leader has taken nothing from any container that you may see.'),
  ];
}
