// Elements are made of text nodes only: nothing that an application says of itself is ever read as markup.

/** root is where this server's paths begin: it may be behind a proxy that puts a prefix before them. */
export const root = new URL('../../', import.meta.url);

/** here is the address of a path of this server. */
export function here(path) {
  return path.startsWith('/') && !path.startsWith('//') ? root.origin + root.pathname + path.slice(1) : path;
}

/** own is this page's path, as one of this server. */
export const own = () => `/${location.pathname.slice(root.pathname.length)}`;

const scheme = document.querySelector('meta[name="scheme"]').content;

/** daemon is the address of a daemon's web port, host:port, as a link. */
export const daemon = (address) => `${scheme}://${address}`;

/** listen gives an element handlers of events by their names. When a page is patched, an element that stays gets those of the new one. */
function listen(handlers) {
  for (const name of Object.keys(handlers)) {
    if (!this.handlers?.[name]) this.addEventListener(name, (event) => this.handlers[name]?.(event));
  }
  this.handlers = handlers;
  this.listen = listen;
}

const fields = new Set(['input', 'select', 'textarea']); // what a reader fills in

/** el makes an element: el('a', {href, class}, child, …). An href that begins with / is a path of this server. Children are elements, texts, or arrays of them; null is left out. */
export function el(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  e.hears = fields.has(name); // it, or what is in it, has handlers or a value: patch must not take it for what looks the same
  for (const [k, v] of Object.entries(attributes)) {
    if (v === null || v === undefined || v === false) continue;
    if (k.startsWith('on')) {
      listen.call(e, { ...e.handlers, [k.slice(2)]: v });
      e.hears = true;
    }
    else e.setAttribute(k, v === true ? '' : k === 'href' ? here(v) : v);
  }
  for (const c of children.flat(Infinity)) {
    if (c === null || c === undefined || c === false) continue;
    if (c.hears) e.hears = true;
    e.append(c instanceof Node ? c : String(c));
  }
  return e;
}

/** say puts words in place of others, if they differ: a reader that hears the page isn't told the same again. */
export function say(place, ...children) {
  const said = el('div', {}, ...children);
  if (said.textContent !== place.textContent) place.replaceChildren(...said.childNodes);
}

/** reachable is an address of a page or proxied page of an application below the prefix, if this server is behind one: browsers may see no other address of the cluster. */
function reachable(url) {
  const proxied = root.pathname !== '/' && /^\/(proxy|cluster\/app)\/application_/.test(url.pathname);
  return proxied ? new URL(here(url.pathname) + url.search + url.hash) : url;
}

/** link is a link if the address is one of the web, and its text otherwise: an application may set any. */
export function link(href, text = href) {
  if (!href || href === 'N/A') return text === href ? '' : text;
  let url;
  try {
    url = reachable(new URL(here(href), location.href));
  } catch {
    return text;
  }
  return url.protocol === 'http:' || url.protocol === 'https:' ? el('a', { href: url.href }, text) : text;
}

/** logs is a link to the logs of an application or a container, wherever they are now. */
export const logs = (id, text = 'logs', node = '') => el('a', { href: `/cluster/logs/${id}${node ? `?node=${encodeURIComponent(node)}` : ''}` }, text);

/** table draws rows by columns: {head, cell(row), num?, wide?}. */
export function table(columns, rows, none) {
  if (rows.length === 0) return el('div', { class: 'scroll' }, el('p', { class: 'none' }, none));
  const kind = (c) => (c.num ? 'num' : c.wide ? 'wide' : null);
  return el('div', { class: 'scroll' }, el('table', {},
    el('thead', {}, el('tr', {}, columns.map((c) => el('th', { scope: 'col', class: kind(c) }, c.head)))),
    el('tbody', {}, rows.map((r) => el('tr', {}, columns.map((c) => el('td', { class: kind(c) }, c.cell(r))))))));
}

/** facts lists names and values; those without a value are left out. */
export function facts(pairs) {
  return el('dl', {}, pairs.filter(([, v]) => v !== undefined && v !== null && v !== '')
    .map(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]));
}

/** tiles shows figures: [name, value, and of what whole it is part]. */
export function tiles(list) {
  const figure = (v) => (typeof v === 'number' ? v.toLocaleString('en') : v);
  return el('div', { class: 'tiles' }, list.map(([name, value, of]) => el('div', { class: 'tile' }, el('b', {}, figure(value)), el('span', {}, of === undefined ? name : `${name} of ${figure(of)}`))));
}

const kinds = {
  good: ['SUCCEEDED', 'RUNNING', 'ACTIVE', 'COMPLETE', 'LEADER', 'Leader', 'STARTED', 'Follower'],
  wait: ['ACCEPTED', 'SUBMITTED', 'DECOMMISSIONING', 'STANDBY', 'SUSPENDED', 'ALLOCATED', 'DRAINING'],
  bad: ['FAILED', 'KILLED', 'LOST', 'UNHEALTHY', 'REBOOTED', 'Unreachable'],
  off: ['FINISHED', 'UNDEFINED', 'DECOMMISSIONED', 'SHUTDOWN', 'STOPPED'],
};

/** badge shows a state by its word, a colour and a shape. YARN calls a suspended container PAUSED; here it has one name. */
export function badge(state) {
  const word = state === 'PAUSED' ? 'SUSPENDED' : state;
  const kind = Object.keys(kinds).find((k) => kinds[k].includes(word)) ?? 'busy';
  return el('span', { class: `badge ${kind}` }, word);
}

/** bar draws percent of a whole; mark is where the guarantee ends. The text is the true figure, also above 100 %. */
export function bar(percent, mark) {
  const p = Math.max(0, Number(percent) || 0);
  const fill = el('i', { class: p > 100.05 ? 'over' : null });
  fill.style.width = `${Math.min(100, p)}%`;
  const stroke = mark > 0 && mark < 100 ? el('u') : null;
  if (stroke) stroke.style.left = `${mark}%`;
  const text = `${p.toFixed(1)} %`;
  return [el('span', { class: 'bar', role: 'img', 'aria-label': text }, fill, stroke), el('span', {}, text)];
}

/** count is a number with its thing in the singular or plural. */
export function count(n, one, many = `${one}s`) {
  return `${Number(n).toLocaleString('en')} ${Number(n) === 1 ? one : many}`;
}

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const format = (options) => new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', hour12: false, ...options });
const forms = { day: format({ second: '2-digit' }), year: format({ day: 'numeric', month: 'short' }), ever: format({ day: 'numeric', month: 'short', year: 'numeric' }),
  full: format({ weekday: 'short', day: 'numeric', month: 'short', year: 'numeric', second: '2-digit', timeZoneName: 'short' }) };

/** time shows a time stamp (ms since 1970), a number or a text, as YARN gives either, in the reader's zone. */
export function time(ms) {
  if (!(Number(ms) > 0)) return '—';
  const t = new Date(Number(ms));
  const now = new Date();
  const form = t.toDateString() === now.toDateString() ? forms.day : t.getFullYear() === now.getFullYear() ? forms.year : forms.ever;
  return el('time', { datetime: t.toISOString(), title: `${forms.full.format(t)} (${zone})` }, form.format(t).replace(',', ''));
}

export function span(ms) {
  let s = Math.max(0, Math.round(ms / 1000));
  const parts = [];
  for (const [unit, n] of [['d', 86400], ['h', 3600], ['min', 60]]) {
    if (s >= n) parts.push(`${Math.floor(s / n)} ${unit}`);
    s %= n;
  }
  return parts.length > 1 ? parts.join(' ') : [...parts, `${s} s`].join(' ');
}

/** memory writes MB in the largest unit that leaves at least one before the point. */
export function memory(mb) {
  let n = Number(mb) || 0;
  for (const unit of ['MB', 'GB', 'TB']) {
    if (n < 1024 || unit === 'TB') return `${Number(n.toFixed(n < 10 && unit !== 'MB' ? 1 : 0)).toLocaleString('en')} ${unit}`;
    n /= 1024;
  }
  return '';
}

/** whole is what the cluster has and what is used of it, with and without labels: YARN's figures are of nodes without a label, and have those of all beside them. */
export function whole(m) {
  if (!m.crossPartitionMetricsAvailable) return { usedMB: m.allocatedMB, totalMB: m.totalMB, usedVCores: m.allocatedVirtualCores, totalVCores: m.totalVirtualCores, containers: m.containersAllocated };
  const { totalUsedResourcesAcrossPartition: used, totalClusterResourcesAcrossPartition: total } = m;
  return { usedMB: used.memory, totalMB: total.memory, usedVCores: used.vCores, totalVCores: total.vCores, containers: m.totalAllocatedContainersAcrossPartition };
}

/** words writes the amounts in a sentence of the server as people do. */
export function words(text) {
  return text.replace(/<memory:(\d+), vCores:(\d+)([^>]*)>/g, (_, mb, vcores, others) => `${memory(mb)} and ${count(vcores, 'vcore')}${others.replace(/, ([^:,]+):(\d+)/g, ', $2 $1')}`);
}

/** list makes a list of what XML-minded servers give as one, several or nothing. */
export function list(v) {
  return v === undefined || v === null ? [] : Array.isArray(v) ? v : [v];
}
