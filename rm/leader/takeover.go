package leader

import (
	"slices"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler"
	"heddle/yarn/pb"
)

// takeOver begins the leadership: it goes on record, and the scheduler is filled from the ledger, so that containers go on
// and new ones can be granted at once. Nodes and ApplicationMasters have to register again, which brings back what is soft.
func (t *turn) takeOver() error {
	t.Enter(&ledgerpb.Command{LeaderStarted: &ledgerpb.LeaderStarted{RmId: t.Settings.ID, Refused: t.work.Refused}})
	if t.work.Timestamp == 0 {
		t.Enter(&ledgerpb.Command{ClusterCreated: &ledgerpb.ClusterCreated{Timestamp: t.Time()}})
	}
	t.epoch = t.work.Epoch()
	if err := t.rollKeys(t.Now()); err != nil {
		return err
	}
	t.publishKeys()
	t.takeQueues()
	for _, node := range t.nodesInOrder() {
		t.takeNode(node)
	}
	for _, app := range t.appsInOrder() {
		t.takeApp(app)
	}
	live := 0
	for _, node := range t.work.Nodes {
		live += len(node.Containers)
	}
	t.Log.WithField("epoch", t.epoch).WithField("applications", len(t.apps)).WithField("nodes", len(t.nodes)).
		WithField("containers", live).Info("leading")
	return nil
}

// OfferLeadership puts on record that an administrator wants a member to lead next.
func (l *Leader) OfferLeadership(to string) error {
	return l.do(func(t *turn) error {
		t.Enter(&ledgerpb.Command{LeadershipOffered: &ledgerpb.LeadershipOffered{RmId: to}})
		return nil
	})
}

func (t *turn) nodesInOrder() []*ledger.Node {
	nodes := make([]*ledger.Node, 0, len(t.work.Nodes))
	for _, n := range t.work.Nodes {
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b *ledger.Node) int { return a.ID.Compare(b.ID) })
	return nodes
}

func (t *turn) appsInOrder() []*ledger.Application {
	var apps []*ledger.Application
	for _, a := range t.work.Apps {
		if !a.State.Ended() {
			apps = append(apps, a)
		}
	}
	slices.SortFunc(apps, func(a, b *ledger.Application) int {
		if a.SubmitTime != b.SubmitTime {
			return int(a.SubmitTime - b.SubmitTime)
		}
		return a.ID.Compare(b.ID)
	})
	return apps
}

func (t *turn) takeNode(node *ledger.Node) {
	if !node.Usable() && len(node.Containers) == 0 && node.State != pb.NodeState_NS_UNHEALTHY {
		return
	}
	n := t.addNode(node)
	n.inherited = true
	t.sched.SetOpen(n.handle, node.State == pb.NodeState_NS_RUNNING)
	n.session = &nodeSession{id: node.ID}
	n.session.seen.at(t.Now())
	session := n.session
	t.AfterCommit(func() { t.sessions.putNode(session) })
}

func (t *turn) takeApp(app *ledger.Application) {
	asks, err := t.amAsks(app.Context, app.Queue)
	if err != nil {
		// it fitted when it was submitted; nodes may have gone since
		t.Log.WithField("application", app.ID).WithError(err).Warn("its ApplicationMaster fits on no node that is there now")
		asks = t.amAsksAsSubmitted(app)
	}
	soft := t.addApp(app, asks)
	soft.inherited = true
	deadline := t.Now().Add(t.Settings.AllocationExpiry)
	for c := range app.Containers.All() {
		switch {
		case !c.Live():
			soft.completed = append(soft.completed, completion(c))
			continue
		case c.State == ledger.ContainerAllocated && !c.AM:
			t.unstarted.add(c.ID, deadline, t.waitsForStart)
		}
		if c.Confirmed != c.Resource {
			t.grown.add(c.ID, deadline)
		}
		t.restore(c)
	}
	attempt := app.Current()
	if attempt == nil || attempt.State.Ended() {
		t.startAttempt(app)
		return
	}
	t.openSession(soft, attempt.ID)
	switch attempt.State {
	case ledger.AttemptScheduled:
		t.sched.UpdateAsks(soft.handle, soft.amAsks)
	case ledger.AttemptAllocated:
		t.launch(app, app.Containers.Get(attempt.AMContainer))
	}
}

// amAsksAsSubmitted asks for an ApplicationMaster's container of the size that was found right at submission.
func (t *turn) amAsksAsSubmitted(app *ledger.Application) []scheduler.Ask {
	return []scheduler.Ask{{
		Name: scheduler.Any, Count: 1, RelaxLocality: true, Capability: app.AMResource,
		AllocationRequestID: -1, ExecutionType: pb.ExecutionType_GUARANTEED,
	}}
}
