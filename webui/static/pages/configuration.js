import { count, el } from '../dom.js';
import { choice, field, load as loadList, nothing, pager, rows } from '../list.js';
import { shown, views } from '../views.js';

const things = ['key'];

export async function load(_, signal) {
  const { configuration } = await loadList('configuration', signal);
  return { ...configuration, rows: configuration.setting ?? [] };
}

const effects = { used: 'used', none: 'no effect', other: 'of other programs' };
const titles = { used: 'Heddle reads it', none: 'YARN’s, and Heddle doesn’t read it', other: 'HDFS, MapReduce or another program reads it' };
const grave = { error: 'bad', warning: 'wait' };

/** value is a setting's value; what is secret the server has replaced. */
const value = (s) => (s.value === '' ? el('span', { class: 'soft' }, '(empty)') : el('code', { class: 'lines', title: s.value.length > 80 ? s.value : null }, el('bdi', {}, s.value)));

const columns = [
  { head: 'Key', sort: 'key', row: true, wide: true, cell: (s) => [el('bdi', { class: 'lines' }, s.key), s.meaning ? el('span', { class: 'sub' }, s.meaning) : null] },
  { head: 'Value', wide: true, cell: (s) => [value(s), s.final ? el('span', { class: 'sub' }, 'final') : null] },
  { head: 'From', sort: 'file', cell: (s) => (s.set ? [el('bdi', {}, s.file), s.line ? el('span', { class: 'sub' }, `line ${s.line}`) : null] : el('span', { class: 'soft' }, 'default')) },
  { head: 'Effect', sort: 'effect', cell: (s) => el('span', { title: titles[s.effect] }, s.effect === 'none' ? el('span', { class: 'badge off' }, effects.none) : effects[s.effect]) },
  { head: 'Problem', sort: 'severity', wide: true, cell: (s) => (s.problem ? [grave[s.severity] ? [el('span', { class: `badge ${grave[s.severity]}` }, s.severity), ' '] : null, s.problem] : '') },
];

export function draw(list, _, redraw) {
  document.title = 'Configuration – Heddle';
  return [
    el('h1', {}, 'Configuration'),
    el('p', { class: 'soft' }, `What this ResourceManager read when it started: ${count(list.total, 'key')}. Secrets are hidden. Queues are under `, el('a', { href: '/cluster/scheduler' }, 'Queues'), '; Hadoop’s form of this page is ', el('a', { href: '/conf' }, '/conf'), '.'),
    choice('set', 'Where from', [['', 'All'], ['true', 'Set'], ['false', 'Defaults']]),
    choice('effect', 'Effect', [['', 'Any effect'], ['used', 'Used'], ['none', 'No effect'], ['other', 'Other programs']]),
    choice('severity', 'Problems', [['', 'With or without problems'], ['error,warning,info', 'With problems']]),
    el('div', { class: 'filters', role: 'search' }, field('q', 'Search', { type: 'search', placeholder: 'key, value or meaning' }), field('file', 'File', { placeholder: 'yarn-site.xml' })),
    views(columns, redraw),
    list.rows.length ? rows(shown(columns), list.rows, { key: (s) => s.key, first: 'key', caption: 'Configuration' }) : nothing(list, 'This ResourceManager has no configuration.', things),
    pager(list, things),
  ];
}
