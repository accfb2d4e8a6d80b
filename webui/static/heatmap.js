// A map of nodes by rack, on a canvas: ten thousand of them are drawn in some milliseconds.
import { el, say } from './dom.js';

const maps = new Map(); // by id
const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const head = 18; // px above each rack, for its name

/** side is the side of a node's square in px, with the gap beside it. */
const side = (n) => (n <= 150 ? 26 : n <= 1500 ? 16 : 10);

class HeatMap {
  constructor(spec) {
    this.spec = spec;
    this.canvas = el('canvas', {});
    this.box = el('div', { class: 'plot', tabindex: 0, role: 'group', onkeydown: (e) => this.key(e), onmousemove: (e) => this.over(e), onmouseleave: () => this.choose(-1), onclick: () => this.open(),
      onblur: () => this.choose(-1) }, this.canvas);
    this.tip = el('div', { class: 'tip', 'aria-live': 'polite' });
    this.place = el('div', { id: spec.id, class: 'chart' }, this.tip, this.box);
    this.place.keeps = true;
    this.chosen = -1;
    new ResizeObserver(() => this.layout()).observe(this.place);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
  }

  update(spec) {
    const same = spec.racks === this.spec.racks && spec.by === this.spec.by;
    this.spec = spec;
    this.box.setAttribute('aria-label', spec.label);
    if (!same) this.layout();
  }

  /** layout finds a place for each node. A node that is chosen stays so, wherever it goes, and what is told of it is told anew. */
  layout() {
    const width = Math.floor(this.box.clientWidth);
    if (!width) return;
    const chosen = this.cells?.[this.chosen]?.node.id;
    const { racks } = this.spec;
    const n = racks.reduce((sum, r) => sum + r.nodes.length, 0);
    const step = side(n);
    const columns = Math.max(1, Math.floor(width / step));
    this.cells = [];
    this.heads = [];
    let y = 0;
    for (const r of racks) {
      this.heads.push([r, y + head - 5]);
      y += head;
      r.nodes.forEach((node, i) => this.cells.push({ node, x: (i % columns) * step, y: y + Math.floor(i / columns) * step }));
      y += Math.ceil(r.nodes.length / columns) * step + 6;
    }
    Object.assign(this, { width, height: y, step, columns });
    const scale = devicePixelRatio || 1;
    this.canvas.width = width * scale;
    this.canvas.height = y * scale;
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${y}px` });
    this.box.setAttribute('aria-label', this.spec.label);
    this.chosen = this.cells.findIndex(({ node }) => node.id === chosen);
    this.tell();
    this.draw();
  }

  draw() {
    if (!this.cells) return;
    const c = this.canvas.getContext('2d');
    const scale = devicePixelRatio || 1;
    c.setTransform(scale, 0, 0, scale, 0, 0);
    c.clearRect(0, 0, this.width, this.height);
    c.fillStyle = token('--soft');
    c.font = '12px system-ui, "DejaVu Sans", sans-serif';
    for (const [r, y] of this.heads) c.fillText(`${r.name} · ${r.nodes.length.toLocaleString('en')}`, 0, y, this.width);
    const colours = Object.fromEntries(['accent', 'line', 'bad', 'wait', 'off', 'ink', 'card'].map((name) => [name, token(`--${name}`)]));
    const size = this.step - (this.step > 12 ? 3 : 2);
    for (const cell of this.cells) this.node(c, cell, size, colours);
    this.mark(c, size, colours);
  }

  /** node draws one: how full it is by its strength, and what isn't well by colour and shape. */
  node(c, { node, x, y }, size, colours) {
    const look = this.spec.look(node);
    c.globalAlpha = 1;
    c.fillStyle = colours.line;
    c.fillRect(x, y, size, size);
    if (look.kind) {
      c.fillStyle = colours[look.kind];
      c.beginPath();
      if (look.kind === 'bad') c.moveTo(x + size / 2, y), c.lineTo(x + size, y + size), c.lineTo(x, y + size);
      else if (look.kind === 'wait') c.rect(x, y, size / 2, size);
      else c.rect(x + size / 3, y + size / 3, size / 3, size / 3);
      c.fill();
      return;
    }
    c.globalAlpha = look.part > 0 ? 0.2 + 0.8 * Math.min(1, look.part) : 0;
    c.fillStyle = colours.accent;
    c.fillRect(x, y, size, size);
    c.globalAlpha = 1;
  }

  mark(c, size, colours) {
    const cell = this.cells[this.chosen];
    if (!cell) return;
    c.strokeStyle = colours.ink;
    c.lineWidth = 2;
    c.strokeRect(cell.x, cell.y, size, size);
  }

  choose(i) {
    if (i === this.chosen) return;
    this.chosen = i;
    this.draw();
    this.tell();
  }

  tell() {
    const cell = this.cells?.[this.chosen];
    this.box.classList.toggle('hand', Boolean(cell));
    say(this.tip, cell ? this.spec.tell(cell.node) : []);
  }

  over(e) {
    const at = this.canvas.getBoundingClientRect();
    const [x, y] = [e.clientX - at.left, e.clientY - at.top];
    this.choose(this.cells?.findIndex((c) => x >= c.x && x < c.x + this.step && y >= c.y && y < c.y + this.step) ?? -1);
  }

  key(e) {
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.columns, ArrowDown: this.columns };
    if (e.key === 'Enter') return this.open();
    if (!this.cells) this.layout(); // a key may come before the observer of the size
    const last = (this.cells?.length ?? 0) - 1;
    const to = { Home: 0, End: last }[e.key] ?? (e.key in steps ? Math.max(this.chosen, 0) + (this.chosen < 0 ? 0 : steps[e.key]) : null);
    if (to === null) return;
    e.preventDefault();
    this.choose(Math.min(last, Math.max(0, to)));
  }

  open() {
    const cell = this.cells?.[this.chosen];
    if (cell) this.spec.open(cell.node);
  }
}

/** heatMap is a map: {id, racks: [{name, nodes}], each node with its id, by: what is shown of them, label, look(node) → {part, kind?}, tell(node) → elements, open(node)}. */
export function heatMap(spec) {
  const old = maps.get(spec.id);
  if (old?.place.isConnected) {
    old.update(spec);
    return el('div', { id: spec.id, class: 'chart' });
  }
  const made = new HeatMap(spec);
  maps.set(spec.id, made);
  return made.place;
}
