import { count, el, list, logs, table, time } from '../dom.js';
import { choice, wanted } from '../list.js';
import { barOf, timeline } from '../timeline.js';

const heights = { '': 14, dense: 7, densest: 3 };
const most = 500; // rows of the table
const lasted = (a, b) => (a && b ? `${((b - a) / 1000).toFixed(1)} s` : '—');

/** draw draws the containers of an application over time, by node or by stage, and the table behind. */
export function draw(t, redraw) {
  const containers = list(t?.container);
  if (containers.length === 0) return null;
  const now = Math.max(t.finished || Date.now(), ...containers.slice(-1).map((c) => c.ended ?? 0));
  const stages = wanted().get('lanes') === 'stage';
  const open = document.getElementById('timeline-table')?.open;
  return el('section', { class: 'figure' }, el('h2', {}, 'Containers over time'),
    el('div', { class: 'choices' }, choice('lanes', 'Lanes', [['', 'By node'], ['stage', 'By stage']]), choice('size', 'Density', [['', 'Large'], ['dense', 'Dense'], ['densest', 'Densest']])),
    timeline({ id: 'timeline', bars: containers.map((c) => barOf(c, now)), laneOf: (b) => (stages ? (b.c.applicationMaster ? 'ApplicationMaster' : `priority ${b.c.priority}`) : b.c.nodeId), row: heights[wanted().get('size')] ?? heights[''],
      from: t.submitted, to: now, label: `${count(containers.length, 'container')} over time. The arrow keys go from one to the next.` }),
    el('ul', { class: 'legend' }, [['soft', 'asked for'], ['busy', 'granted, being localized'], ['accent', 'running'], ['wait', 'suspended'], ['bad', 'ended badly']].map(([k, text]) => el('li', {}, el('i', { class: `key ${k}` }), text))),
    t.containersForgotten > 0 ? el('p', { class: 'soft' }, `${count(t.containersForgotten, 'container')} between the first and the newest are no longer known.`) : null,
    el('details', { id: 'timeline-table', ontoggle: redraw }, el('summary', {}, 'As a table'), open ? [containers.length > most ? el('p', {}, `The first ${most} of ${containers.length.toLocaleString('en')}.`) : null, table([
      { head: 'Container', cell: (c) => [c.containerId, ' ', logs(c.containerId, 'logs', c.nodeId)] }, { head: 'Node', cell: (c) => c.nodeId }, { head: 'Asked', cell: (c) => time(c.asked) }, { head: 'Waited', num: true, cell: (c) => lasted(c.asked, c.granted) },
      { head: 'Started after', num: true, cell: (c) => lasted(c.granted, c.started) }, { head: 'Ran', num: true, cell: (c) => lasted(c.started, c.ended ?? now) }, { head: 'Suspended', num: true, cell: (c) => list(c.suspended).length || '—' },
      { head: 'Exit status', num: true, cell: (c) => (c.live ? '—' : c.exitStatus) },
    ], containers.slice(0, most), '')] : null));
}
