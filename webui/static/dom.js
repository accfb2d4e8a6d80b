// Elements are made of text nodes only: nothing that an application says of itself is ever read as markup.

/** root is where this server's paths begin: it may be behind a proxy that puts a prefix before them. */
export const root = new URL('../../', import.meta.url);

/** here is the address of a path of this server. */
export function here(path) {
  return path.startsWith('/') && !path.startsWith('//') ? root.origin + root.pathname + path.slice(1) : path;
}

/** el makes an element: el('a', {href, class}, child, …). An href that begins with / is a path of this server. Children are elements, texts, or arrays of them; null is left out. */
export function el(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(attributes)) {
    if (v === null || v === undefined || v === false) continue;
    if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
    else e.setAttribute(k, v === true ? '' : k === 'href' ? here(v) : v);
  }
  for (const c of children.flat(Infinity)) {
    if (c !== null && c !== undefined && c !== false) e.append(c instanceof Node ? c : String(c));
  }
  return e;
}

/** reachable is an address of a page or proxied page of an application below the prefix, if this server is behind one: browsers may see no other address of the cluster. */
function reachable(url) {
  const proxied = root.pathname !== '/' && /^\/(proxy|cluster\/app)\/application_/.test(url.pathname);
  return proxied ? new URL(here(url.pathname) + url.search + url.hash) : url;
}

/** link is a link if the address is one of the web, and its text otherwise: an application may set any. */
export function link(href, text = href) {
  if (!href) return '';
  let url;
  try {
    url = reachable(new URL(here(href), location.href));
  } catch {
    return text;
  }
  return url.protocol === 'http:' || url.protocol === 'https:' ? el('a', { href: url.href }, text) : text;
}

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

export function tiles(pairs) {
  return el('div', { class: 'tiles' }, pairs.map(([name, value]) => el('div', { class: 'tile' }, el('b', {}, value), el('span', {}, name))));
}

const kinds = {
  good: ['SUCCEEDED', 'RUNNING', 'ACTIVE', 'COMPLETE', 'LEADER', 'Leader'],
  wait: ['ACCEPTED', 'SUBMITTED', 'NEW', 'NEW_SAVING', 'UNHEALTHY', 'DECOMMISSIONING', 'LOST', 'STANDBY', 'PAUSED', 'SUSPENDED'],
  bad: ['FAILED', 'KILLED', 'SHUTDOWN', 'DECOMMISSIONED', 'REBOOTED', 'Unreachable'],
};

export function badge(state) {
  const kind = Object.keys(kinds).find((k) => kinds[k].includes(state)) ?? 'busy';
  return el('span', { class: `badge ${kind}` }, state);
}

export function bar(percent) {
  const p = Math.max(0, Math.min(100, Number(percent) || 0));
  const fill = el('i');
  fill.style.width = `${p}%`;
  return [el('span', { class: 'bar', role: 'progressbar', 'aria-valuenow': p.toFixed(0), 'aria-valuemin': 0, 'aria-valuemax': 100 }, fill), `${p.toFixed(1)} %`];
}

/** time writes a time stamp (ms since 1970), a number or a text, as YARN gives either. */
export function time(ms) {
  return Number(ms) > 0 ? new Date(Number(ms)).toLocaleString(undefined, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false }) : '—';
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

export function memory(mb) {
  return mb >= 1024 ? `${(mb / 1024).toFixed(mb % 1024 ? 1 : 0)} GB` : `${mb} MB`;
}

/** list makes a list of what XML-minded servers give as one, several or nothing. */
export function list(v) {
  return v === undefined || v === null ? [] : Array.isArray(v) ? v : [v];
}
