// The queue editor. Changes are staged in this tab, as settings by whole keys; the server tries them, applies them as one for the version they were made for, and undoes them.
import { act, get, Refused } from '../api.js';
import { count, el, table } from '../dom.js';
import { whoami } from '../who.js';

const prefix = 'yarn.scheduler.capacity.';
const usual = ['capacity', 'maximum-capacity', 'state', 'user-limit-factor', 'minimum-user-limit-percent', 'maximum-applications', 'maximum-am-resource-percent', 'ordering-policy', 'priority', 'disable_preemption',
  'acl_submit_applications', 'acl_administer_queue', 'accessible-node-labels', 'maximum-application-lifetime', 'default-application-lifetime'];
const stored = 'heddle-queues';

const empty = () => ({ version: '', staged: {}, undo: null });
const kept = (() => {
  try {
    return { ...empty(), ...JSON.parse(sessionStorage.getItem(stored) ?? '{}') };
  } catch {
    return empty();
  }
})();
let base = {}; // what holds
let tried = null; // the answer to a trial of what is staged now
let said = { text: '', bad: false };
let foreign = []; // keys that somebody else has changed since these changes were begun

const keep = () => sessionStorage.setItem(stored, JSON.stringify(kept));

/** stage sets a key to a value, null removes it. What is as it was isn't staged. */
function stage(key, value) {
  if ((base[key] ?? null) === value) delete kept.staged[key];
  else kept.staged[key] = value;
  tried = null;
  said = { text: '', bad: false };
  keep();
}

const value = (key) => (key in kept.staged ? kept.staged[key] : base[key] ?? null);
const keys = () => [...new Set([...Object.keys(base), ...Object.keys(kept.staged)])].filter((k) => value(k) !== null);
const children = (path) => (value(`${prefix}${path}.queues`) ?? '').split(',').map((s) => s.trim()).filter(Boolean);

/** tree lists the paths of queues, each above those below it. */
function tree(path = 'root') {
  return [path, ...children(path).flatMap((c) => tree(`${path}.${c}`))];
}

/** properties are the keys of a queue itself, without its path. */
function properties(path, paths) {
  const start = `${prefix}${path}.`;
  const below = paths.filter((p) => p.startsWith(`${path}.`)).map((p) => `${prefix}${p}.`);
  return keys().filter((k) => k.startsWith(start) && !below.some((b) => k.startsWith(b))).map((k) => k.slice(start.length)).filter((k) => k !== 'queues');
}

function addQueue(path, name) {
  stage(`${prefix}${path}.queues`, [...children(path), name].join(','));
  stage(`${prefix}${path}.${name}.capacity`, '0');
}

function removeQueue(path) {
  const [, parent, name] = /^(.*)\.([^.]+)$/.exec(path);
  const rest = children(parent).filter((c) => c !== name);
  for (const k of keys().filter((k) => k.startsWith(`${prefix}${path}.`))) stage(k, null);
  stage(`${prefix}${parent}.queues`, rest.length ? rest.join(',') : null);
}

export async function load(signal) {
  let conf;
  try {
    conf = await get('/ws/v1/cluster/scheduler-conf', signal);
  } catch (e) {
    if (e instanceof Refused && e.status === 400) return { edit: true, closed: e.message };
    throw e;
  }
  const [version, me] = await Promise.all([get('/ws/v1/cluster/scheduler-conf/version', signal), whoami(null, signal)]);
  const holds = Object.fromEntries((conf.property ?? []).map((p) => [p.name, p.value]));
  const now = String(version.versionID);
  if (kept.version && kept.version !== now && Object.keys(kept.staged).length) {
    foreign = Object.keys({ ...base, ...holds }).filter((k) => Object.keys(base).length && base[k] !== holds[k]);
    said = { text: `Somebody else has changed the queues: version ${now} holds, and your changes were begun at version ${kept.version}. They are kept; look at the difference again.`, bad: true };
    tried = null;
  }
  base = holds;
  kept.version = now;
  for (const [k, v] of Object.entries(kept.staged)) settle(k, v);
  keep();
  return { edit: true, me };
}

/** settle drops a change that somebody else has made, too. */
function settle(key, v) {
  if ((base[key] ?? null) === v) delete kept.staged[key];
}

const body = (settings) => ({ 'global-updates': [{ entry: Object.entries(settings).map(([key, v]) => ({ key, value: v === '' ? null : v })) }] });

function asking(f, redraw) {
  return async () => {
    try {
      said = { text: (await f()) ?? '', bad: false };
    } catch (e) {
      said = { text: e.message, bad: true };
    }
    redraw();
  };
}

async function tryIt() {
  const before = JSON.stringify(kept.staged);
  const answer = (await act('POST', '/ws/v1/heddle/queues/trial', body(kept.staged))).trial;
  if (JSON.stringify(kept.staged) === before) tried = answer;
}

/** put applies settings to the version that this page has seen. Its answer is a text. */
async function put(settings) {
  const r = await act('PUT', `/ws/v1/cluster/scheduler-conf?version=${encodeURIComponent(kept.version)}`, body(settings)).catch((e) => {
    if (e.status === 200) return null; // YARN answers in words
    throw e;
  });
  return r;
}

async function apply() {
  const inverse = Object.fromEntries(Object.keys(kept.staged).map((k) => [k, base[k] ?? null]));
  await put(kept.staged);
  const { versionID } = await get('/ws/v1/cluster/scheduler-conf/version');
  Object.assign(kept, { staged: {}, undo: { version: String(versionID), settings: inverse } });
  [tried, foreign] = [null, []];
  keep();
  dispatchEvent(new Event('popstate'));
  return 'The changes hold.';
}

async function undo() {
  if (!confirm('Undo your last change?')) return 'Nothing was undone.';
  await put(kept.undo.settings);
  kept.undo = null;
  keep();
  dispatchEvent(new Event('popstate'));
  return 'It was undone.';
}

const short = (key) => (key.startsWith(prefix) ? key.slice(prefix.length) : key);
const shown = (v) => (v === null || v === undefined ? el('span', { class: 'soft' }, 'not set') : el('bdi', {}, v === '' ? '(empty)' : v));

/** difference shows what is staged. */
function difference(redraw) {
  const rows = Object.entries(kept.staged).sort(([a], [b]) => (a < b ? -1 : 1));
  return [el('h2', {}, 'Staged changes'), table([
    { head: 'Setting', wide: true, cell: ([k]) => [el('bdi', {}, short(k)), foreign.includes(k) ? el('span', { class: 'sub bad' }, 'somebody else has changed it, too') : null] },
    { head: 'Now', wide: true, cell: ([k]) => shown(base[k]) }, { head: 'Then', wide: true, cell: ([, v]) => shown(v) },
    { head: 'Drop', cell: ([k]) => el('button', { type: 'button', class: 'button', 'aria-label': `Drop the change of ${short(k)}`, onclick: () => { delete kept.staged[k]; tried = null; keep(); redraw(); } }, 'Drop') },
  ], rows, 'None. Change a value below.')];
}

/** outcome shows what the server says of the staged changes. */
function outcome() {
  if (!tried) return null;
  const app = (x) => el('a', { href: `/cluster/app/${x.applicationId}` }, x.applicationId);
  return el('section', { id: 'outcome' }, el('h2', {}, 'What would come of it'),
    tried.refused ? el('p', { class: 'notice bad' }, tried.refused) : el('p', {}, `The server would take it. A second scheduler has tried it on what runs and waits, for ${tried.seconds} s of the cluster’s time.`),
    tried.stranded?.length ? [el('h3', {}, 'Applications that it strands'), table([{ head: 'Application', cell: app }, { head: 'User', cell: (x) => el('bdi', {}, x.user) }, { head: 'Queue', cell: (x) => x.queue }, { head: 'Why', wide: true, cell: (x) => x.reason }], tried.stranded, '')] : null,
    tried.refused ? null : [el('h3', {}, 'What starts'), table([{ head: 'Application', cell: app }, { head: 'User', cell: (x) => el('bdi', {}, x.user) }, { head: 'Queue', cell: (x) => x.queue },
      { head: 'Starts then', num: true, cell: (x) => count(x.containers, 'container') }, { head: 'Starts as it is', num: true, cell: (x) => count(x.containersAsItIs, 'container') }], tried.start ?? [], 'It makes no difference to what starts.'),
    el('h3', {}, 'What preemption takes'), table([{ head: 'Container', cell: (x) => el('a', { href: `/cluster/container/${x.containerId}` }, x.containerId) }, { head: 'Queue', cell: (x) => x.queue }, { head: 'Size', cell: (x) => x.resource },
      { head: 'It would be', wide: true, cell: (x) => x.how }, { head: 'Because', wide: true, cell: (x) => x.reason }], tried.loss ?? [], 'Nothing, or nothing that it wouldn’t take as it is.')],
    tried.more ? el('p', { class: 'soft' }, 'There is more than these lists have.') : null);
}

function property(path, name, redraw) {
  const key = `${prefix}${path}.${name}`;
  const id = `set-${path}-${name}`;
  const input = el('input', { id, placeholder: 'not set', class: key in kept.staged ? 'staged' : null, onchange: (e) => { stage(key, e.target.value.trim() === '' ? null : e.target.value.trim()); redraw(); } });
  input.value = value(key) ?? '';
  return el('label', { for: id }, name, input);
}

/** more adds a property, or a queue, by a name that is typed. */
function more(id, label, text, f, redraw) {
  return el('form', { id, class: 'action', onsubmit: (e) => {
    e.preventDefault();
    const field = e.target.elements.namedItem('name');
    const name = field.value.trim();
    if (!name) return;
    field.value = '';
    f(name);
    redraw();
  } }, el('label', {}, label, el('input', { name: 'name', id: `${id}-name`, maxlength: 200 })), el('button', { class: 'button' }, text));
}

function queue(path, paths, redraw) {
  const names = [...new Set([...(path === 'root' ? [] : usual), ...properties(path, paths)])];
  const changed = Object.keys(kept.staged).some((k) => k.startsWith(`${prefix}${path}.`));
  return el('details', { id: `edit-${path}` }, el('summary', {}, el('b', {}, el('bdi', {}, path)), value(`${prefix}${path}.capacity`) !== null ? el('span', { class: 'soft' }, `capacity ${value(`${prefix}${path}.capacity`)}`) : null,
    value(`${prefix}${path}.state`) === 'STOPPED' ? el('span', { class: 'badge off' }, 'STOPPED') : null, changed ? el('span', { class: 'badge wait' }, 'changed') : null),
  el('div', { class: 'filters' }, names.map((n) => property(path, n, redraw))),
  el('div', { class: 'actions' },
    more(`add-to-${path}`, 'Queue below it ', 'Add', (name) => addQueue(path, name), redraw),
    more(`property-of-${path}`, 'Other setting ', 'Set', (name) => { stage(`${prefix}${path}.${name}`, ''); }, redraw),
    path === 'root' ? null : el('button', { type: 'button', class: 'button danger', id: `remove-${path}`, onclick: () => { removeQueue(path); redraw(); } }, 'Remove')));
}

export function draw({ me, closed }, redraw, views) {
  if (closed) return [el('h1', {}, 'Edit queues'), views, el('p', { class: 'notice' }, 'Queues come from files here: change them there, and run ', el('code', {}, 'heddle rmadmin -refreshQueues'), '. With ', el('code', {}, 'yarn.scheduler.configuration.store.class'), ' = ', el('code', {}, 'memory'), ' they are changed here, and all ResourceManagers keep the changes.')];
  const n = Object.keys(kept.staged).length;
  const paths = tree();
  const button = (id, text, f, off) => el('button', { type: 'button', class: 'button', id, disabled: off, onclick: asking(f, redraw) }, text);
  return [
    el('h1', {}, 'Edit queues ', el('small', {}, `version ${kept.version}`)), views,
    el('p', { role: 'status', class: said.text ? `notice${said.bad ? ' bad' : ''}` : '' }, said.text),
    difference(redraw),
    el('div', { class: 'actions' }, button('try', 'Try', tryIt, n === 0),
      me.mayChangeQueues ? button('apply', `Apply ${n ? count(n, 'change') : ''}`, apply, n === 0 || !tried || Boolean(tried.refused)) : el('span', { class: 'soft' }, me.admin ? 'The editor is read-only (yarn.webapp.scheduler-ui.read-only.enable).' : 'Only administrators apply changes.'),
      n ? button('drop', 'Drop all', async () => { kept.staged = {}; tried = null; foreign = []; keep(); }, false) : null,
      me.mayChangeQueues && kept.undo?.version === kept.version && n === 0 ? button('undo', 'Undo the last change', undo, false) : null),
    outcome(),
    el('h2', {}, 'Queues'),
    paths.map((p) => queue(p, paths, redraw)),
    el('details', { id: 'edit-others' }, el('summary', {}, 'Settings of no queue'), el('div', { class: 'filters' },
      keys().filter((k) => !paths.some((p) => k.startsWith(`${prefix}${p}.`))).sort().map((k) => {
        const input = el('input', { id: `key-${k}`, onchange: (e) => { stage(k, e.target.value === '' ? null : e.target.value); redraw(); } });
        input.value = value(k) ?? '';
        return el('label', { for: `key-${k}` }, short(k), input);
      })), el('div', { class: 'actions' }, more('other-key', `Setting, such as ${prefix}maximum-applications `, 'Set', (name) => stage(name, ''), redraw))),
  ];
}
