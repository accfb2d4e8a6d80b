// A log of any length, of which a part is in the page: it reads on, follows, and is searched by the server. Every byte is text.
import { here, el } from './dom.js';
import { Refused } from './api.js';

const piece = 64 * 1024; // bytes of a question
const most = 2 * 1024 * 1024; // characters that stay in the page
const every = 1000; // ms from one look at a growing log to the next
const number = (n) => Number(n).toLocaleString('en');

let view = null; // the one of this page

class LogView {
  constructor(spec) {
    this.spec = spec;
    this.pre = el('pre', { class: 'log', tabindex: 0, role: 'region', 'aria-label': `Content of ${spec.name}` });
    this.said = el('span', { role: 'status', class: 'soft' });
    this.found = el('div', { class: 'found' });
    this.follows = el('input', { type: 'checkbox', id: 'log-follow', onchange: () => this.tick() });
    this.follows.checked = true;
    this.follow = el('label', { for: 'log-follow', hidden: true }, this.follows, ' Follow');
    const button = (id, text, f) => el('button', { type: 'button', class: 'button', id: `log-${id}`, onclick: () => this.doing(f) }, text);
    this.earlier = button('earlier', 'Earlier', () => this.before());
    this.later = button('later', 'Later', () => this.after());
    this.place = el('div', { id: 'log', class: 'logview' },
      el('div', { class: 'tools' },
        el('form', { id: 'log-search', role: 'search', onsubmit: (e) => { e.preventDefault(); this.doing(() => this.search(0)); } },
          el('label', { for: 'log-find' }, 'Search ', el('input', { id: 'log-find', type: 'search', maxlength: 200, required: true })), el('button', { class: 'button' }, 'Find')),
        button('first', 'Beginning', () => this.show(0)), this.earlier, this.later, button('last', 'End', () => this.tail()), this.follow,
        el('a', { class: 'button', href: this.path({ download: true }), download: true }, 'Download'), this.said),
      this.found, this.pre);
    this.place.keeps = true;
    this.doing(() => (spec.at > 0 ? this.show(spec.at) : this.tail()));
    this.tick();
  }

  path(more) {
    const query = new URLSearchParams(this.spec.query);
    for (const [k, v] of Object.entries(more)) query.set(k, v);
    return `${this.spec.path}?${query}`;
  }

  /** read asks for bytes from start on, up to end if there is one. */
  async read(start, end) {
    const r = await fetch(here(this.path(end === undefined ? { start } : { start, end })), { cache: 'no-store', signal: AbortSignal.timeout(30000) });
    if (!r.ok) throw new Refused(r.status, (await r.text()).slice(0, 500));
    const head = (name) => r.headers.get(`Log-${name}`);
    return { bytes: new Uint8Array(await r.arrayBuffer()), start: Number(head('Start')), length: Number(head('Length')), growing: head('Growing') === 'true' };
  }

  /** doing does one thing after the other, and says what goes wrong. */
  doing(f) {
    this.turn = (this.turn ?? Promise.resolve()).then(f).catch((e) => { this.trouble = e.message; }).then(() => this.say());
    return this.turn;
  }

  say() {
    this.said.textContent = this.trouble ?? (this.length === undefined ? '' : this.length ? `bytes ${number(this.start)}–${number(this.end)} of ${number(this.length)}` : 'empty so far');
    this.said.className = this.trouble ? 'bad' : 'soft';
    this.trouble = undefined;
    this.earlier.disabled = !(this.start > 0);
    this.later.disabled = !(this.end < this.length);
    this.follow.hidden = !this.growing;
  }

  /** put replaces what is shown. A part that begins within a line begins with the next one. */
  put({ bytes, start, length, growing }) {
    let skip = 0;
    if (start > 0) {
      const i = bytes.subarray(0, 4096).indexOf(10);
      skip = i >= 0 && i + 1 < bytes.length ? i + 1 : 0;
    }
    this.decoder = new TextDecoder();
    Object.assign(this, { start: start + skip, end: start + bytes.length, length, growing });
    this.pre.textContent = this.decoder.decode(bytes.subarray(skip), { stream: true });
  }

  async tail() {
    this.put(await this.read(-piece));
    this.pre.scrollTop = this.pre.scrollHeight;
  }

  /** show shows the log from a byte on, at the top. */
  async show(at) {
    this.follows.checked = false;
    const from = Math.max(0, at - 1); // the line end before it
    this.put(await this.read(from, from + piece));
    this.pre.scrollTop = 0;
  }

  async before() {
    if (!(this.start > 0)) return;
    const height = this.pre.scrollHeight - this.pre.scrollTop;
    const { bytes, start, length } = await this.read(Math.max(0, this.start - piece), this.start);
    const i = start > 0 ? bytes.subarray(0, 4096).indexOf(10) : -1;
    this.pre.prepend(new TextDecoder().decode(bytes.subarray(i + 1)));
    Object.assign(this, { start: start + i + 1, length });
    if (this.pre.textContent.length > most) return this.show(this.start); // the end goes
    this.pre.scrollTop = this.pre.scrollHeight - height;
  }

  /** after reads on at the end. A log that was cut begins again. */
  async after() {
    if (this.end === undefined) return this.tail();
    const more = await this.read(this.end, this.end + 4 * piece);
    if (more.length < this.end) return this.tail();
    const bottom = this.pre.scrollHeight - this.pre.scrollTop - this.pre.clientHeight < 40;
    Object.assign(this, { length: more.length, growing: more.growing });
    if (!more.bytes.length) return undefined;
    this.pre.append(this.decoder.decode(more.bytes, { stream: true }));
    this.end += more.bytes.length;
    if (this.pre.textContent.length > most) this.put(await this.read(this.end - piece, this.end));
    if (bottom) this.pre.scrollTop = this.pre.scrollHeight;
    return undefined;
  }

  /** tick follows while the container runs, the page is seen and the reader wants it. */
  tick() {
    clearTimeout(this.timer);
    this.timer = setTimeout(async () => {
      if (this.growing && this.follows.checked && !document.hidden) await this.doing(() => this.after());
      if (this.place.isConnected) this.tick();
    }, every);
  }

  async search(from) {
    const text = this.place.querySelector('#log-find').value;
    if (!text) return;
    const r = await fetch(here(this.path({ find: text, start: from })), { cache: 'no-store', signal: AbortSignal.timeout(30000) });
    if (!r.ok) throw new Refused(r.status, (await r.text()).slice(0, 500));
    const { matches } = await r.json();
    const all = matches.match ?? [];
    const lines = all.map((m) => el('li', {}, el('button', { type: 'button', onclick: () => this.doing(() => this.show(m.at)) }, m.line || '(an empty line)')));
    const more = matches.next >= 0 ? el('button', { type: 'button', class: 'button', id: 'log-further', onclick: () => this.doing(() => this.search(matches.next)) }, `Search on from byte ${number(matches.next)}`) : null;
    this.found.replaceChildren(el('p', {}, all.length ? `${number(all.length)} ${all.length === 1 ? 'line has' : 'lines have'} it.` : 'No line has it.', ' ', more ?? ''), el('ul', {}, lines));
  }
}

/** logview is a log: {path, query, name, at}. It stays while the page is patched. */
export function logview(spec) {
  const key = JSON.stringify(spec);
  if (view?.key === key && view.place.isConnected) return el('div', { id: 'log', class: 'logview' });
  view = new LogView(spec);
  view.key = key;
  return view.place;
}
