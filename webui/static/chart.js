// Curves over time, drawn by uPlot. A chart stays in the page when that is patched, and gets new data.
import { el, here, say } from './dom.js';

const charts = new Map(); // by id
let library;

/** plot loads uPlot, a script of the old kind: it leaves a global name. */
function plot() {
  library ??= new Promise((done, failed) => {
    document.head.append(el('link', { rel: 'stylesheet', href: '/cluster/static/vendor/uPlot.min.css' }),
      el('script', { src: here('/cluster/static/vendor/uPlot.iife.min.js'), onload: () => done(window.uPlot), onerror: failed }));
  });
  return library;
}

/** instants are steps of an axis of time, in seconds: none is shorter than what its labels tell apart. */
const instants = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 7200, 14400].map((minutes) => 60 * minutes);

const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', hour12: false });
const date = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const full = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false, timeZoneName: 'short' });

/** when writes the time of a point. */
export const when = (ms) => full.format(new Date(ms)).replace(',', '');

/** stack adds each series to those before it; the last one is drawn first, so that it is behind the others. */
function stack(series) {
  const sums = [];
  let before = null;
  for (const s of series) {
    before = s.values.map((v, i) => v + (before ? before[i] : 0));
    sums.push(before);
  }
  return sums;
}

/** data is what uPlot draws: the stacked series from the top one down, then the lines. */
function data(spec) {
  const areas = spec.series.filter((s) => !s.line);
  const sums = stack(areas);
  return [spec.times.map((t) => t / 1000), ...sums.reverse(), ...spec.series.filter((s) => s.line).map((s) => s.values)];
}

const ordered = (spec) => [...spec.series.filter((s) => !s.line).reverse(), ...spec.series.filter((s) => s.line)];

class Chart {
  constructor(spec) {
    this.spec = spec;
    this.box = el('div', { class: 'plot', tabindex: 0, role: 'img', onkeydown: (e) => this.key(e), onblur: () => this.tip.replaceChildren() });
    this.tip = el('div', { class: 'tip', 'aria-live': 'polite' });
    this.place = el('div', { id: spec.id, class: 'chart' }, this.tip, this.box);
    this.place.keeps = true;
    new ResizeObserver(() => this.draw()).observe(this.place);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.again());
  }

  options(width) {
    const grid = { stroke: token('--line'), width: 1 };
    const axis = { stroke: token('--soft'), grid, ticks: grid, font: '12px system-ui, "DejaVu Sans", sans-serif' };
    const { spec } = this;
    const far = () => (spec.times.at(-1) - spec.times[0]) > 36 * 3600e3;
    return {
      width, height: width < 500 ? 200 : 260, legend: { show: false }, cursor: { drag: { x: false, y: false }, points: { show: false } },
      scales: { x: { time: true, range: (_, from, to) => [spec.from / 1000 || from, spec.to / 1000 || to] }, y: { range: (_, least, most) => [0, Math.max(most, spec.least ?? 1) * 1.05] } },
      axes: [{ ...axis, values: (_, list) => list.map((t) => (far() ? date : clock).format(new Date(t * 1000))), space: 70, incrs: instants },
        { ...axis, size: 70, incrs: spec.steps, values: (_, list) => list.map((v) => spec.format(v)) }],
      series: [{}, ...ordered(spec).map((s) => ({ stroke: token(s.colour), width: s.line ? 2 : 1, dash: s.line ? [6, 4] : undefined,
        fill: s.line ? undefined : token(s.pale ? '--accent-soft' : s.colour), points: { show: spec.times.length < 3 }, spanGaps: false }))],
      hooks: { setCursor: [(u) => this.show(u.cursor.idx)] },
    };
  }

  /** draw makes the picture, or fits it to its place. */
  async draw() {
    const width = Math.floor(this.box.clientWidth);
    if (!width) return;
    this.width = width;
    const uPlot = await plot();
    if (this.picture && this.drawn === width) return;
    if (this.picture) this.picture.setSize({ width, height: width < 500 ? 200 : 260 });
    else this.picture = new uPlot(this.options(width), data(this.spec), this.box);
    this.drawn = width;
  }

  /** again draws with other colours or series. */
  again() {
    this.picture?.destroy();
    this.picture = null;
    this.draw();
  }

  update(spec) {
    const same = spec.series.map((s) => s.name).join('\n') === this.spec.series.map((s) => s.name).join('\n');
    const shown = this.tip.hasChildNodes() ? this.spec.times[this.at] : null;
    this.spec = spec;
    this.box.setAttribute('aria-label', spec.label);
    if (same) this.picture?.setData(data(spec));
    else this.again();
    if (shown !== null) this.show(spec.times.indexOf(shown)); // the figures of the same time, which may have changed
  }

  /** show writes the figures at a point beside the chart. */
  show(i) {
    const { spec } = this;
    if (i === null || i === undefined || !(i in spec.times)) return this.tip.replaceChildren();
    this.at = i;
    say(this.tip, el('b', {}, when(spec.times[i])),
      ...spec.series.map((s) => el('span', {}, el('i', { class: `key ${s.colour.slice(2)}${s.line ? ' dashed' : ''}` }), `${s.name} ${spec.format(s.values[i])}`)));
  }

  key(e) {
    const last = this.spec.times.length - 1;
    const from = this.at ?? last;
    const to = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: last, PageUp: from - 10, PageDown: from + 10 }[e.key];
    if (to === undefined || !this.picture) return;
    e.preventDefault();
    const i = Math.min(last, Math.max(0, to));
    this.picture.setCursor({ left: this.picture.valToPos(this.spec.times[i] / 1000, 'x'), top: 10 });
    this.show(i);
  }
}

/** rows are the points of a chart as a table, the newest first. */
function rows(spec) {
  const order = spec.times.map((_, i) => i).reverse();
  return el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': spec.title }, el('table', {}, el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'From'), spec.series.map((s) => el('th', { scope: 'col', class: 'num' }, s.name)))),
    el('tbody', {}, order.map((i) => el('tr', {}, el('td', {}, when(spec.times[i])), spec.series.map((s) => el('td', { class: 'num' }, spec.format(s.values[i]))))))));
}

/**
 * chart is a chart with its legend, and the table behind it: {id, title, label, times, from, to, series, format, csv, least, steps}: the axis shows at least from 0 to least, in one of the steps. A series has name, values, colour (a token's name) and
 * perhaps line; those without are stacked, pale ones below lines that cross them. format writes a value with its unit.
 */
export function chart(spec) {
  let place;
  if (spec.times.length === 0) {
    charts.delete(spec.id);
    place = el('div', { class: 'scroll' }, el('p', { class: 'none' }, spec.none ?? 'Nothing is recorded of this time.'));
  } else if (charts.get(spec.id)?.place.isConnected) {
    charts.get(spec.id).update(spec);
    place = el('div', { id: spec.id, class: 'chart' });
  } else {
    const made = new Chart(spec);
    made.box.setAttribute('aria-label', spec.label);
    charts.set(spec.id, made);
    place = made.place;
  }
  const open = document.getElementById(`${spec.id}-table`)?.open;
  return el('section', { class: 'figure' }, el('h2', {}, spec.title), spec.tools ?? null, place,
    el('ul', { class: 'legend' }, spec.series.map((s) => el('li', {}, el('i', { class: `key ${s.colour.slice(2)}${s.line ? ' dashed' : ''}` }), s.name))),
    el('details', { id: `${spec.id}-table`, ontoggle: spec.redraw }, el('summary', {}, 'As a table'), open ? rows(spec) : null,
      spec.csv ? el('p', {}, el('a', { href: spec.csv, download: `${spec.id}.csv` }, 'Download as CSV')) : null));
}
