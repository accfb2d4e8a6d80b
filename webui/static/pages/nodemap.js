import { fetched } from '../api.js';
import { badge, bar, count, el, here, list } from '../dom.js';
import { choice, field, wanted } from '../list.js';
import { heatMap } from '../heatmap.js';

const by = {
  use: { head: 'Use', part: (n) => n.use / 100, says: (n) => `${n.use} % used` },
  suspended: { head: 'Suspended', part: (n) => (n.suspended ? Math.max(0.3, n.suspended / Math.max(1, n.containers)) : 0), says: (n) => `${count(n.suspended, 'container')} suspended` },
  lent: { head: 'Lent to short tasks', part: (n) => n.lent / 100, says: (n) => `${n.lent} % lent` },
  staged: { head: 'Input in memory', part: (n) => (n.staged ? Math.max(0.3, Math.min(1, n.staged / 10)) : 0), says: (n) => `input of ${count(n.staged, 'waiting map')} in memory` },
  speed: { head: 'Speed', part: (n, fastest) => n.speed / fastest, says: (n) => (n.speed ? `speed class ${n.speed}` : 'speed not known') },
  health: { head: 'Health', part: () => 0.2, says: () => '' },
};
const chosen = () => by[wanted().get('by')] ?? by.use;

/** load asks for all nodes, with the filters of the list. */
export async function load(signal) {
  const query = wanted();
  query.delete('by');
  query.delete('hide');
  return (await fetched(`/ws/v1/heddle/node-map${query.size ? `?${query}` : ''}`, signal)).nodeMap;
}

const kind = (state) => (['LOST', 'UNHEALTHY', 'REBOOTED'].includes(state) ? 'bad' : state === 'DECOMMISSIONING' ? 'wait' : ['RUNNING', 'NEW'].includes(state) ? '' : 'off');

let kept = {}; // the racks of the last answer: while it holds, nothing is drawn anew

function racks(map) {
  if (kept.map !== map) kept = { map, racks: racksOf(map) };
  return kept.racks;
}

function racksOf(map) {
  return list(map.rack).map((r) => ({ name: r.name, nodes: r.id.map((id, i) => ({ id, state: r.state[i], use: r.usePercent[i], containers: r.containers[i], suspended: r.suspended[i], lent: r.lentPercent[i], staged: r.stagedMaps[i], speed: r.speedClass[i] })) }));
}

/** draw draws the map, with its figures in a table for those who don't see it: a row for each rack. */
export function draw(map) {
  const all = racks(map);
  const how = chosen();
  const nodes = all.flatMap((r) => r.nodes);
  const fastest = nodes.reduce((most, n) => Math.max(most, n.speed), 1);
  const ill = nodes.filter((n) => kind(n.state) === 'bad').length;
  return [
    choice('by', 'Colour by', Object.entries(by).map(([name, x]) => [name === 'use' ? '' : name, x.head])),
    el('div', { class: 'filters', role: 'search' }, field('q', 'Search', { type: 'search', placeholder: 'host, rack, version' }), field('rack', 'Rack')),
    nodes.length === 0 ? el('div', { class: 'scroll' }, el('p', { class: 'none' }, 'No node has joined, or none is admitted by these filters.')) : heatMap({
      id: 'nodes-map', racks: all, by: how.head, label: `${count(nodes.length, 'node')} in ${count(all.length, 'rack')}, ${ill} lost or unhealthy. The arrow keys go from node to node, Enter opens one.`,
      look: (n) => ({ part: how.part(n, fastest), kind: kind(n.state) }),
      tell: (n) => [el('b', {}, n.id), badge(n.state), el('span', {}, `${n.use} % used`), el('span', {}, count(n.containers, 'container')), how.says(n) && how !== by.use ? el('span', {}, how.says(n)) : ''],
      open: (n) => { location.href = here(`/cluster/node/${encodeURIComponent(n.id)}`); },
    }),
    el('ul', { class: 'legend' }, el('li', {}, el('i', { class: 'key accent' }), `the stronger, the more: ${how.head.toLowerCase()}`), el('li', {}, el('span', { class: 'badge bad' }, 'lost or unhealthy')),
      el('li', {}, el('span', { class: 'badge wait' }, 'leaving')), el('li', {}, el('span', { class: 'badge off' }, 'gone'))),
    el('details', { id: 'racks' }, el('summary', {}, 'By rack'), el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Racks' }, el('table', {},
      el('thead', {}, el('tr', {}, ['Rack', 'Nodes', 'Lost or unhealthy', 'Containers', 'Suspended', 'Mean use'].map((h, i) => el('th', { scope: 'col', class: i ? 'num' : null }, h)))),
      el('tbody', {}, all.map((r) => {
        const sum = (f) => r.nodes.reduce((n, x) => n + f(x), 0);
        const up = r.nodes.filter((n) => kind(n.state) === '');
        return el('tr', { 'data-key': r.name }, el('th', { scope: 'row' }, r.name), ...[r.nodes.length, sum((n) => (kind(n.state) === 'bad' ? 1 : 0)), sum((n) => n.containers), sum((n) => n.suspended)]
          .map((v) => el('td', { class: 'num' }, v.toLocaleString('en'))), el('td', { class: 'num' }, bar(up.length ? up.reduce((n, x) => n + x.use, 0) / up.length : 0)));
      }))))),
  ];
}
