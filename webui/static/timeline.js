// The containers of an application over time, on a canvas: each a bar with its steps. Only what is in sight is drawn, so that ten thousand don't stutter.
import { badge, el, here, say, span as lasting, time } from './dom.js';

const charts = new Map(); // by id
const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const axis = 22; // px above the bars, for times
const left = 8;

/** rowsOf puts the bars of each lane into as few rows as possible, none over another: {lane, bars}, a lane's name in a row of its own. */
export function rowsOf(bars, laneOf) {
  const lanes = new Map();
  for (const b of [...bars].sort((x, y) => x.from - y.from)) {
    const name = laneOf(b);
    if (!lanes.has(name)) lanes.set(name, []);
    const rows = lanes.get(name);
    const free = rows.find((r) => r.at(-1).to <= b.from);
    if (free) free.push(b);
    else rows.push([b]);
  }
  return [...lanes].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([name, rows]) => [{ lane: name, bars: [] }, ...rows.map((r) => ({ bars: r }))]);
}

/** well are the exit statuses of containers that didn't fail: they ended by themselves, or their application, its ApplicationMaster or the ResourceManager ended them. */
const well = [0, -1000, -100, -105, -106, -107];

/** barOf is the bar of a container of the server's timeline. */
export function barOf(c, now) {
  const to = c.ended ?? now;
  return { c, from: c.asked ?? c.granted, to, steps: [['soft', c.asked, c.granted], ['busy', c.granted, c.started ?? to], [c.live || well.includes(c.exitStatus) ? 'accent' : 'bad', c.started, to],
    ...(c.suspended ?? []).map((s) => ['wait', s.from, s.to ?? to])].filter(([, a, b]) => a && b && b >= a) };
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', hour12: false });
const date = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const seconds = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });
const moment = (t, span) => (span > 36 * 3600e3 ? date : span > 15 * 60e3 ? clock : seconds).format(new Date(t));

class Timeline {
  constructor(spec) {
    this.canvas = el('canvas', {});
    this.room = el('div', { class: 'room' });
    this.box = el('div', { class: 'plot lanes', tabindex: 0, role: 'group', onscroll: () => this.draw(), onmousemove: (e) => this.over(e), onmouseleave: () => this.choose(null), onclick: () => this.open(), onkeydown: (e) => this.key(e) },
      this.canvas, this.room);
    this.tip = el('div', { class: 'tip', 'aria-live': 'polite' });
    this.place = el('div', { id: spec.id, class: 'chart' }, this.tip, this.box);
    this.place.keeps = true;
    new ResizeObserver(() => this.draw()).observe(this.place);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
    this.update(spec);
  }

  update(spec) {
    const old = this.chosen?.c.containerId;
    this.spec = spec;
    this.rows = rowsOf(spec.bars, spec.laneOf);
    this.order = this.rows.flatMap((r) => r.bars);
    this.chosen = this.order.find((b) => b.c.containerId === old) ?? null;
    const height = axis + this.rows.length * spec.row + 4;
    this.room.style.height = `${height}px`;
    this.box.style.height = `${Math.min(height, 480)}px`;
    this.box.setAttribute('aria-label', spec.label);
    this.say();
    this.draw();
  }

  x(t) {
    return left + ((t - this.spec.from) / Math.max(1, this.spec.to - this.spec.from)) * (this.width - 2 * left);
  }

  draw() {
    const { clientWidth: width, clientHeight: height, scrollTop } = this.box;
    if (!width || !height) return;
    const scale = devicePixelRatio || 1;
    Object.assign(this, { width, height });
    if (this.canvas.width !== width * scale || this.canvas.height !== height * scale) Object.assign(this.canvas, { width: width * scale, height: height * scale });
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px` });
    const c = this.canvas.getContext('2d');
    c.setTransform(scale, 0, 0, scale, 0, 0);
    c.clearRect(0, 0, width, height);
    const colours = Object.fromEntries(['accent', 'bad', 'busy', 'wait', 'soft', 'ink', 'line', 'card'].map((n) => [n, token(`--${n}`)]));
    const { row } = this.spec;
    const first = Math.max(0, Math.floor(scrollTop / row));
    c.font = '11px system-ui, "DejaVu Sans", sans-serif';
    const marks = this.marks();
    c.fillStyle = colours.line;
    for (const t of marks) c.fillRect(this.x(this.spec.from + t), axis - 4, 1, height);
    c.save();
    c.beginPath();
    c.rect(left, 0, width - 2 * left + 1, height);
    c.clip(); // what began before is cut
    for (let i = first; i < Math.min(this.rows.length, first + Math.ceil(height / row) + 1); i++) this.row(c, this.rows[i], axis + i * row - scrollTop, colours);
    c.restore();
    this.times(c, marks, colours);
  }

  row(c, { lane, bars }, y, colours) {
    const { row } = this.spec;
    if (lane !== undefined) {
      c.fillStyle = colours.soft;
      c.fillText(lane, left, y + row - Math.max(1, (row - 9) / 2), this.width - 2 * left);
      return;
    }
    const high = Math.max(2, row - (row > 6 ? 3 : 1));
    for (const b of bars) {
      for (const [kind, from, to] of b.steps) {
        const [x, end] = [this.x(from), this.x(to)];
        c.fillStyle = colours[kind];
        const thin = kind === 'soft' ? 1 : kind === 'wait' ? high / 2 : high;
        c.fillRect(x, y + (high - thin) / 2, Math.max(1, end - x), thin);
      }
      if (b === this.chosen) {
        c.strokeStyle = colours.ink;
        c.lineWidth = 2;
        c.strokeRect(this.x(b.from), y, Math.max(2, this.x(b.to) - this.x(b.from)), high);
      }
    }
  }

  /** marks are the places of the axis, in ms after the beginning: whole spans since then, or whole spans of the reader's day. */
  marks() {
    const total = this.spec.to - this.spec.from;
    const step = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400, 604800].map((s) => s * 1000).find((s) => (total / s) * 70 <= this.width) ?? Math.max(1, total);
    if (this.spec.clock) {
      const ahead = new Date(this.spec.from).getTimezoneOffset() * 60e3;
      const first = Math.ceil((this.spec.from - ahead) / step) * step + ahead - this.spec.from;
      return Array.from({ length: Math.max(0, Math.floor((total - first) / step) + 1) }, (_, i) => first + i * step);
    }
    return Array.from({ length: Math.floor(total / step) + 1 }, (_, i) => i * step);
  }

  times(c, marks, colours) {
    c.fillStyle = colours.card;
    c.fillRect(0, 0, this.width, axis - 2);
    c.fillStyle = colours.soft;
    for (const t of marks) {
      const x = this.x(this.spec.from + t);
      const text = this.spec.clock ? moment(this.spec.from + t, this.spec.to - this.spec.from) : t ? lasting(t) : '0 s';
      c.fillText(text, Math.min(x, this.width - left - c.measureText(text).width), axis - 9);
    }
  }

  choose(b) {
    if (b === this.chosen) return;
    this.chosen = b;
    this.say();
    this.draw();
  }

  say() {
    say(this.tip, this.chosen ? this.tell(this.chosen.c) : []);
  }

  tell(c) {
    const steps = [['asked', c.asked], ['granted', c.granted], ['localized', c.localized], ['running', c.started], ['ended', c.ended]];
    const before = (i) => steps.slice(0, i).findLast(([, t]) => t)?.[1];
    return [el('b', {}, c.containerId), el('span', {}, el('bdi', {}, c.of ?? c.nodeId)), ...steps.map(([name, t], i) => (t ? el('span', {}, `${name} `, before(i) ? `+${((t - before(i)) / 1000).toFixed(1)} s` : time(t)) : null)).filter(Boolean),
      (c.suspended ?? []).length ? badge('SUSPENDED') : null, c.live || c.exitStatus === 0 ? null : el('span', { class: well.includes(c.exitStatus) ? null : 'bad' }, `exit status ${c.exitStatus}`)].filter(Boolean);
  }

  over(e) {
    const at = this.box.getBoundingClientRect();
    const row = this.rows[Math.floor((e.clientY - at.top + this.box.scrollTop - axis) / this.spec.row)];
    const x = e.clientX - at.left;
    this.choose(row?.bars.find((b) => x >= this.x(b.from) - 2 && x <= this.x(b.to) + 2) ?? null);
  }

  key(e) {
    if (e.key === 'Enter') return this.open();
    const at = this.order.indexOf(this.chosen);
    const to = { ArrowLeft: at - 1, ArrowUp: at - 1, ArrowRight: at + 1, ArrowDown: at + 1, Home: 0, End: this.order.length - 1 }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    const b = this.order[Math.min(this.order.length - 1, Math.max(0, to))];
    const y = axis + this.rows.findIndex((r) => r.bars.includes(b)) * this.spec.row;
    if (y < this.box.scrollTop + axis || y > this.box.scrollTop + this.height - this.spec.row) this.box.scrollTop = y - this.height / 2;
    this.choose(b);
  }

  open() {
    if (this.chosen?.c.live) location.href = here(`/cluster/container/${this.chosen.c.containerId}`);
  }
}

/** timeline is a chart of bars: {id, bars, laneOf(bar), row (px), from, to, label, clock}: with clock the axis has times of day. */
export function timeline(spec) {
  const old = charts.get(spec.id);
  if (old?.place.isConnected) {
    old.update(spec);
    return el('div', { id: spec.id, class: 'chart' });
  }
  const made = new Timeline(spec);
  charts.set(spec.id, made);
  return made.place;
}
