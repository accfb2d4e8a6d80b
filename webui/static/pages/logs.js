import { get, Refused } from '../api.js';
import { el, link, list, own, table, time } from '../dom.js';
import { wanted } from '../list.js';
import { logview } from '../logview.js';

export const kinds = ['leadership'];

/** place reads the address: of an application, of a container and perhaps one of its logs, or as stock's log server has it: node, container, entity, user, log. */
function place() {
  const [, , first = '', ...rest] = own().slice(1).split('/').map(decodeURIComponent);
  const query = wanted();
  if (/^(application|container)_/.test(first)) return { id: first, file: rest[0] ?? '', node: query.get('node') ?? '', owner: query.get('owner') ?? '' };
  const [id = '', , owner = '', file = ''] = rest;
  if (!id.startsWith('container_')) throw new Refused(404, 'Logs are at /cluster/logs/ followed by the id of an application or a container.');
  return { id, file, node: first, owner };
}

const questions = ({ node, owner }) => new URLSearchParams(Object.entries({ node, owner }).filter(([, v]) => v));
const asked = (path, p) => `${path}${questions(p).size ? `?${questions(p)}` : ''}`;

export async function load(_, signal) {
  const p = place();
  const kind = p.id.startsWith('application_') ? 'apps' : 'containers';
  return { p, logs: (await get(asked(`/ws/v1/heddle/${kind}/${encodeURIComponent(p.id)}/logs`, p), signal)).logs };
}

const bytes = (n) => `${Number(n).toLocaleString('en')} ${Number(n) === 1 ? 'byte' : 'bytes'}`;
const appOf = (id) => id.replace(/^container_(?:e\d+_)?(\d+)_(\d+)_.*$/, 'application_$1_$2');

/** files lists logs of containers. */
function files(infos, p, withContainers) {
  const rows = list(infos).flatMap((i) => list(i.containerLogInfo).map((f) => ({ ...f, id: i.containerId, node: i.nodeId, from: i.logAggregationType })));
  const to = (f) => asked(`/cluster/logs/${encodeURIComponent(f.id)}/${encodeURIComponent(f.fileName)}`, { node: f.node, owner: p.owner });
  return table([
    ...(withContainers ? [{ head: 'Container', cell: (f) => el('a', { href: asked(`/cluster/logs/${f.id}`, { node: f.node, owner: p.owner }) }, f.id) }] : []),
    { head: 'Log', cell: (f) => el('a', { href: to(f), 'aria-current': f.fileName === p.file && !withContainers ? 'true' : null }, el('bdi', {}, f.fileName)) },
    { head: 'Length', num: true, cell: (f) => bytes(f.fileSize) },
    { head: 'Last change', cell: (f) => (f.time ? time(f.time) : f.lastModifiedTime) },
    { head: 'Where', wide: true, cell: (f) => (f.from === 'LOCAL' ? `on node ${f.node}` : `collected, ${f.node}`) },
  ], rows, 'There are no logs.');
}

const more = (logs) => (logs.more ? el('p', { class: 'notice' }, 'There are more than this page lists. ', el('code', {}, 'heddle logs'), ' reads them all.') : null);

function ofApplication(p, logs) {
  return [el('h1', {}, 'Logs of ', el('a', { href: `/cluster/app/${p.id}` }, p.id)), more(logs), p.node ? files(logs.containerLogsInfo, p, true) : table([
    { head: 'Node', cell: (f) => el('a', { href: asked(`/cluster/logs/${p.id}`, { node: f.fileName, owner: p.owner }) }, f.fileName) },
    { head: 'Length', num: true, cell: (f) => bytes(f.fileSize) }, { head: 'Collected', wide: true, cell: (f) => time(f.time) },
  ], list(logs.nodeFile), ['No logs have been collected. While an application lives, its containers’ logs are on their nodes: their pages have links. They are collected if ', el('code', {}, 'yarn.log-aggregation-enable'), ' is set.'])];
}

export function draw({ p, logs }) {
  document.title = `${p.file || 'Logs'} – ${p.id} – Heddle`;
  if (p.id.startsWith('application_')) return ofApplication(p, logs);
  const path = `/ws/v1/heddle/containers/${encodeURIComponent(p.id)}/logs/${encodeURIComponent(p.file)}`;
  return [
    el('h1', {}, p.file ? [el('bdi', {}, p.file), ' '] : 'Logs of ', p.file ? el('small', {}, p.id) : p.id),
    el('p', {}, link(`/cluster/app/${appOf(p.id)}`, appOf(p.id)), ' · ', link(`/cluster/container/${p.id}`, 'its container')), more(logs),
    p.file ? logview({ path, query: String(questions(p)), name: p.file, at: Number(wanted().get('at')) || 0 }) : null,
    p.file ? el('h2', {}, 'All logs of this container') : null, files(logs.containerLogsInfo, p, false),
  ];
}
