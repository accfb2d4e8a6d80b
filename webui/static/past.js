// What was used, guaranteed, waited for and suspended over time, by the cluster, a queue or a user.
import { get } from './api.js';
import { chart } from './chart.js';
import { count, memory } from './dom.js';
import { choice, wanted } from './list.js';

export const spans = [['1h', '1 hour'], ['6h', '6 hours'], ['24h', '1 day'], ['7d', '7 days'], ['30d', '30 days']];

/** span is the time that the reader looks back. */
export const span = () => (spans.some(([s]) => s === wanted().get('span')) ? wanted().get('span') : '6h');
export const spanText = () => spans.find(([s]) => s === span())[1].replace(/^1 /, '');

/** doubled are steps of memory on an axis, in MB. */
export const doubled = Array.from({ length: 50 }, (_, i) => 2 ** i);

/** values are those of a series, which lacks figures that are 0 throughout. */
export const values = (s, of, n) => s?.[of] ?? new Array(n).fill(0);

const kept = new Map();

/** history asks for history by a query, at most twice a minute: the server has a new sample each 10 s, and a point is longer. */
export async function history(query, signal) {
  const path = `/ws/v1/heddle/history?${query}${query ? '&' : ''}from=${span()}`;
  const before = kept.get(path);
  if (before && Date.now() - before.at < 30e3) return before.answer;
  const answer = (await get(path, signal)).history;
  if (kept.size > 4) kept.clear();
  kept.set(path, { at: Date.now(), answer });
  return answer;
}

/** choices choose the span of time and the resource. */
export const choices = () => [choice('span', 'Span of time', spans.map(([s, text]) => [s === '6h' ? '' : s, text])), choice('by', 'Resource', [['', 'Memory'], ['vcores', 'VCores']])];

export const vcores = () => wanted().get('by') === 'vcores';

/** begin is where an axis begins: with what was asked for, or the first sample. */
export const begin = (h) => Math.max(h.from, h.begins);

/** charts draw what one series has had: {id, of, name, history, redraw, guaranteed: it has a guarantee}. */
export function charts({ id, of, name, history: h, redraw, guaranteed }) {
  const s = (h.series ?? []).find((x) => x.name === name);
  const times = s ? h.time ?? [] : [];
  const [what, format] = vcores() ? ['VCores', (v) => count(Math.round(v), 'vcore')] : ['MB', memory];
  const title = vcores() ? 'VCores' : 'Memory';
  const line = (label, field, colour) => ({ name: label, values: values(s, `${field}${what}`, times.length), colour, line: true });
  const last = times.length ? format(values(s, `used${what}`, times.length).at(-1)) : 'nothing';
  return chart({ id, title: `${title} over time`, tools: null, times, from: begin(h), to: h.to, format, redraw, least: vcores() ? 1 : 1024, steps: vcores() ? undefined : doubled,
    label: `${title} over the last ${spanText()}. Now ${last} is used. The arrow keys go from point to point.`, none: 'Nothing is recorded of this time: a sample is taken each 10 s while something is used or waits.',
    series: [{ name: 'used', values: values(s, `used${what}`, times.length), colour: '--q1', pale: true }, ...(guaranteed ? [line('guaranteed', 'guaranteed', '--ink')] : []), line('waited for', 'pending', '--q2'), line('suspended, part of used', 'suspended', '--q3')],
    csv: `/ws/v1/heddle/history?of=${of}&name=${encodeURIComponent(name)}&from=${span()}&format=csv` });
}
