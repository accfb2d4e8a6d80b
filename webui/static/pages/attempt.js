import { get } from '../api.js';
import { badge, el, facts, link, list, logs, memory, table, time } from '../dom.js';

export async function load(id, signal) {
  const app = id.replace(/^appattempt_(\d+_\d+)_\d+$/, 'application_$1');
  const base = `/ws/v1/cluster/apps/${encodeURIComponent(app)}/appattempts/${encodeURIComponent(id)}`;
  const [attempt, containers] = await Promise.all([get(base, signal), get(`${base}/containers`, signal)]);
  return { app, attempt: attempt.appAttempt ?? attempt, containers: list(containers.containers?.container ?? containers.container) };
}

export function draw({ app, attempt: a, containers }, id) {
  document.title = `${id} – Heddle`;
  return [
    el('h1', {}, id),
    facts([
      ['Application', el('a', { href: `/cluster/app/${app}` }, app)], ['State', a.appAttemptState ? badge(a.appAttemptState) : ''],
      ['Started', time(a.startTime ?? a.startedTime)], ['Master’s container', a.containerId ?? a.amContainerId], ['Node', a.nodeId ?? a.host],
      ['Tracking', link(a.trackingUrl)], ['Diagnostics', a.diagnosticsInfo?.trim()],
    ]),
    el('h2', {}, 'Containers'),
    table([
      { head: 'Container', cell: (c) => el('a', { href: `/cluster/container/${c.containerId}` }, c.containerId) },
      { head: 'State', cell: (c) => badge(c.containerState) },
      { head: 'Node', cell: (c) => link(c.nodeHttpAddress, c.assignedNodeId) },
      { head: 'Memory', num: true, cell: (c) => memory(Number(c.allocatedMB)) },
      { head: 'VCores', num: true, cell: (c) => c.allocatedVCores },
      { head: 'Priority', num: true, cell: (c) => c.priority },
      { head: 'Started', cell: (c) => time(c.startedTime) },
      { head: 'Logs', cell: (c) => logs(c.containerId) },
    ], containers, 'No containers run.'),
  ];
}
