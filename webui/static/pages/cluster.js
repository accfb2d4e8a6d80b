import { get, optional } from '../api.js';
import { badge, daemon, el, facts, link, list, table, time } from '../dom.js';

export async function load(_, signal) {
  const [info, members] = await Promise.all([get('/ws/v1/cluster/info', signal), optional('/ws/v1/heddle/members', signal)]);
  return { info: info.clusterInfo, members: list(members?.members?.member), epoch: members?.members?.epoch, warning: members?.members?.warning };
}

export function draw({ info: i, members, epoch, warning }) {
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
    ], members, 'This ResourceManager is alone.'),
  ];
}
