// What an administrator may do with a node: have it leave or stay, and change what it offers.
import { act } from './api.js';
import { doing, form, status, unnamed } from './actions.js';
import { el } from './dom.js';

const gone = ['LOST', 'DECOMMISSIONED', 'SHUTDOWN', 'REBOOTED'];
const no = (text) => Promise.reject(new Error(text));

/** ofNode are the actions on a node of the list. */
export function ofNode(n, me, redraw) {
  if (!me?.mayChangeNodes || !me.named) return unnamed(me);
  if (gone.includes(n.state)) return el('section', {}, el('h2', {}, 'Change it'), el('p', { class: 'soft' }, n.state === 'DECOMMISSIONED' ? 'It has left. It joins again when its NodeManager is started.' : 'It has gone. It joins again when its NodeManager registers.'), status());
  const at = `/ws/v1/heddle/nodes/${encodeURIComponent(n.id)}`;
  const leaving = n.state === 'DECOMMISSIONING';
  const drain = (v) => {
    if (!confirm(`Drain ${n.id}? It gets no new containers, and leaves when the applications that ran on it have ended, or at its deadline, which ends its containers.`)) return no('It was not drained.');
    return act('POST', `${at}/drain`, v('minutes') === '' ? {} : { timeoutSeconds: Math.round(Number(v('minutes')) * 60) });
  };
  const resize = (v) => act('POST', `/ws/v1/cluster/nodes/${encodeURIComponent(n.id)}/resource`, { resource: { memory: Math.round(Number(v('gigabytes')) * 1024), vCores: Number(v('vcores')) }, overCommitTimeout: -1 });
  return el('section', {}, el('h2', {}, 'Change it'), el('div', { class: 'actions' },
    form('drain', doing(redraw, drain, leaving ? 'It has another deadline.' : 'It leaves.'), el('label', {}, 'Leaves within minutes ', el('input', { name: 'minutes', id: 'drain-minutes', type: 'number', min: 0, step: 'any', placeholder: 'as configured' })), el('button', { class: 'button' }, leaving ? 'Move the deadline' : 'Drain')),
    leaving ? form('recommission', doing(redraw, () => act('POST', `${at}/recommission`), 'It stays.'), el('button', { class: 'button' }, 'Recommission')) : null,
    form('resize', doing(redraw, resize, 'It offers that now.'), el('label', {}, 'Offers GB ', el('input', { name: 'gigabytes', id: 'to-gigabytes', type: 'number', min: 0, step: 'any', required: true, placeholder: Number((n.total.memoryMB / 1024).toFixed(2)) })),
      el('label', {}, 'and vcores ', el('input', { name: 'vcores', id: 'to-vcores', type: 'number', min: 0, step: 1, required: true, placeholder: n.total.vCores })), el('button', { class: 'button' }, 'Set'))), status());
}
