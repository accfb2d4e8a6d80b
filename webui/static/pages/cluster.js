import { doing, form, status } from '../actions.js';
import { act, get, optional } from '../api.js';
import { badge, daemon, el, facts, link, list, table, time } from '../dom.js';
import { whoami } from '../who.js';

export async function load(_, signal) {
  const [info, members, me] = await Promise.all([get('/ws/v1/cluster/info', signal), optional('/ws/v1/heddle/members', signal), whoami(null, signal).catch(() => null)]);
  return { info: info.clusterInfo, members: list(members?.members?.member), epoch: members?.members?.epoch, warning: members?.members?.warning, me };
}

const sure = (text, path, no) => (confirm(text) ? act('POST', path) : Promise.reject(new Error(no)));

/** actions are what an administrator may do with a member: have it lead, or remove it. The leader can be neither. */
function actions(m, redraw) {
  if (m.leader) return '';
  const at = `/ws/v1/heddle/members/${encodeURIComponent(m.id)}`;
  return el('div', { class: 'actions' },
    m.webAddress && !m.witness && m.reachable ? form(`lead-${m.id}`, doing(redraw, () => sure(`Have ${m.id} lead? Running applications continue; calls wait for a moment.`, `${at}/lead`, 'Nothing was handed over.'), `${m.id} leads.`), el('button', { class: 'button', 'aria-label': `Have ${m.id} lead` }, 'Have it lead')) : null,
    form(`remove-${m.id}`, doing(redraw, () => sure(`Remove ${m.id} from the group? It keeps no copy of new work until it joins again.`, `${at}/remove`, `${m.id} was not removed.`), `${m.id} was removed.`), el('button', { class: 'button danger', 'aria-label': `Remove ${m.id}` }, 'Remove')));
}

export function draw({ info: i, members, epoch, warning, me }, _, redraw) {
  const may = me?.admin && me.named && members.length > 1;
  document.title = 'Cluster – Heddle';
  return [
    el('h1', {}, 'Cluster'),
    facts([
      ['Cluster', i.id], ['State', badge(i.haState ?? i.state)], ['Up since', time(i.startedOn)], ['Changes of leader', epoch],
      ['Heddle', (i.resourceManagerBuildVersion ?? '').replace(/^.* from heddle /, '') || i.resourceManagerVersion], ['Speaks as Hadoop', i.hadoopVersion],
    ]),
    el('h2', {}, 'ResourceManagers'),
    warning ? el('p', { class: 'warning' }, warning) : '',
    table([
      { head: 'Id', cell: (m) => m.id },
      { head: 'Role', cell: (m) => badge(m.reachable === false ? 'Unreachable' : m.leader ? 'Leader' : m.witness ? 'Witness' : 'Follower') },
      { head: 'Entries behind', num: true, cell: (m) => m.behind ?? '—' },
      { head: 'Version', cell: (m) => m.version ?? '—' },
      { head: 'Raft', cell: (m) => (members.length > 1 ? m.raftAddress : '—') },
      { head: 'Web', cell: (m) => (m.webAddress ? link(`${daemon(m.webAddress)}/cluster/cluster`, m.webAddress) : '') },
      ...(may ? [{ head: 'Change it', cell: (m) => actions(m, redraw) }] : []),
    ], members, 'This ResourceManager is alone.'),
    status(),
  ];
}
