package leader

import (
	"time"

	"heddle/rm/leader/noderecords"
	"heddle/rm/leader/pastapps"
	"heddle/rm/leader/request"
	"heddle/rm/leader/session"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// takeOver begins the leadership: it is recorded, and the scheduler is filled from the ledger, so that containers continue
// and new ones can be granted at once. Nodes and ApplicationMasters register again, which restores soft state.
func (l *Leader) takeOver() error {
	l.Enter(&ledgerpb.Command{LeaderStarted: &ledgerpb.LeaderStarted{RmId: l.Settings.ID, Refused: l.work.Refused}})
	if l.work.Timestamp == 0 {
		l.Enter(&ledgerpb.Command{ClusterCreated: &ledgerpb.ClusterCreated{Timestamp: l.Time()}})
	}
	l.epoch = l.work.Epoch()
	if err := l.keys.Roll(l.Now()); err != nil {
		return err
	}
	l.keys.Publish()
	l.queueConf.Begin()
	l.core.labels.Begin()
	l.core.attrs.Begin()
	l.applications.ended.Begin(l.work)
	for _, node := range noderecords.ByID(l.work) {
		l.takeNode(node)
	}
	for _, app := range pastapps.Live(l.work) {
		l.takeApp(app)
	}
	live := 0
	for _, node := range l.work.Nodes {
		live += len(node.Containers)
	}
	l.Log.WithField("epoch", l.epoch).WithField("applications", len(l.core.apps)).WithField("nodes", len(l.core.nodes)).
		WithField("containers", live).Info("leading")
	l.version.Tick(l.Now()) // a new cluster writes the newest version before it has anything to write
	l.core.labels.TakeOver()
	return nil
}

// inheritedExpiry is how soon a container must be started that an earlier leader granted. Its ApplicationMaster may not know of it, because
// that leader was lost before it answered, and has asked for another: the room can't be used in that time. It is long enough for
// ApplicationMasters that know of it and start many. (YARN gives up all containers that no node knows of when the leader changes.)
const inheritedExpiry = 30 * time.Second

// inherit has a container expire soon, unless it is started.
func (cs *containers) inherit(id records.ContainerID, now time.Time) {
	cs.inherited.Add(id, now.Add(min(cs.Settings.AllocationExpiry, inheritedExpiry)), cs.waitsForStart)
}

// OfferLeadership puts on record that an administrator wants a member to lead next.
func (l *Leader) OfferLeadership(to string) error {
	return l.Do(func() error {
		l.Enter(&ledgerpb.Command{LeadershipOffered: &ledgerpb.LeadershipOffered{RmId: to}})
		return nil
	})
}

func (l *Leader) takeNode(node *ledger.Node) {
	if !node.Usable() && len(node.Containers) == 0 && node.State != pb.NodeState_NS_UNHEALTHY {
		return
	}
	if r := l.nodeManagers.bounded(node.ID, node.Capability); r != node.Capability { // an earlier release has admitted it
		l.Enter(&ledgerpb.Command{NodeUpdated: &ledgerpb.NodeUpdated{Node: ledger.NodeRef(node.ID), Capability: ledger.Amounts(r)}})
	}
	n := l.nodeManagers.addNode(node)
	l.hosts.Inherit(n.id)
	l.events.nodeBegins(n)
	l.setOpen(n, node.State == pb.NodeState_NS_RUNNING)
	n.session = &nodeSession{id: node.ID}
	n.session.seen.At(l.Now())
	session := n.session
	l.AfterCommit(func() { l.nodeSessions.Put(session.id, session) })
}

func (l *Leader) takeApp(app *ledger.Application) {
	asks, err := l.requests.ForMaster(app.Context, app.Queue)
	if err != nil {
		// it fitted when it was submitted; nodes may have gone since
		l.Log.WithField("application", app.ID).WithError(err).Warn("no current node is large enough for the ApplicationMaster")
		asks = l.requests.OfSize(app.AMResource, request.NotedLabel(app.Context))
	}
	soft := l.applications.addApp(app, asks)
	soft.inherited = true
	var ended []Completion
	for c := range app.Containers.All() {
		switch {
		case !c.Live():
			ended = append(ended, session.CompletionOf(c))
			continue
		case c.State == ledger.ContainerAllocated && !c.AM:
			l.containers.inherit(c.ID, l.Now())
		}
		if c.Starved() {
			soft.box.Suspend(c.ID, true)
		}
		l.sizes.Restore(c)
		l.containers.restore(c)
	}
	soft.box.Complete(ended)
	attempt := app.Current()
	if attempt == nil || attempt.State.Ended() {
		l.attempts.startAttempt(app)
		return
	}
	l.attempts.openSession(soft, attempt.ID)
	switch attempt.State {
	case ledger.AttemptScheduled:
		l.sched.Apply(&eventlog.Event{Op: eventlog.UpdateAsks, App: soft.handle, Asks: soft.amAsks})
	case ledger.AttemptAllocated:
		l.attempts.launch(app, app.Containers.Get(attempt.AMContainer))
	}
}
