package leader

import (
	"slices"
	"time"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// ContainerUpdate is the wish to change a container (YARN: UpdateContainerRequest).
type ContainerUpdate struct {
	ID         records.ContainerID
	Version    int32 // that the ApplicationMaster knows
	Kind       pb.ContainerUpdateType
	Capability *pb.Resource
}

// Resized is a container that has another size, by the wish of its ApplicationMaster.
type Resized struct {
	Kind  pb.ContainerUpdateType
	Grant Grant
}

// Unresized is a wish that is refused.
type Unresized struct {
	Index   int // of the wish in its call
	Reason  string
	Version int32 // of the container
}

// growth is a container that waits for room to grow.
type growth struct {
	id records.ContainerID
	to records.Resource
}

// grown is a container that was given more, of which its node must know by a deadline.
type grown struct {
	id       records.ContainerID
	deadline time.Time
}

// Why a container can't be changed, in Hadoop's words (RMServerUtils).
const (
	wrongVersion   = "INCORRECT_CONTAINER_VERSION_ERROR"
	unknownID      = "INVALID_CONTAINER_ID"
	outstanding    = "UPDATE_OUTSTANDING_ERROR"
	outOfRange     = "RESOURCE_OUTSIDE_ALLOWED_RANGE"
	typesStayFixed = "All containers are GUARANTEED; their execution type can't be changed"
)

// resizeAll takes an application's wishes to change containers, and returns what is refused. Less is given at once; more as
// soon as the node has it and the queue's maximum allows it, before anybody else gets something there.
func (t *turn) resizeAll(app *ledger.Application, wishes []ContainerUpdate) (refused []Unresized) {
	for i := range wishes {
		if reason, version := t.resizeOne(app, &wishes[i]); reason != "" {
			refused = append(refused, Unresized{Index: i, Reason: reason, Version: version})
		}
	}
	return refused
}

func (t *turn) resizeOne(app *ledger.Application, u *ContainerUpdate) (reason string, version int32) {
	c := app.Containers.Get(u.ID)
	if c == nil || !c.Live() {
		return unknownID, 0
	}
	if u.Version != c.Version {
		return wrongVersion, c.Version
	}
	if slices.ContainsFunc(t.growing, func(g growth) bool { return g.id == c.ID }) {
		return outstanding, c.Version
	}
	more := u.Kind == pb.ContainerUpdateType_INCREASE_RESOURCE
	if !more && u.Kind != pb.ContainerUpdateType_DECREASE_RESOURCE {
		return typesStayFixed, c.Version
	}
	to, err := t.fromPB(u.Capability)
	if err == nil {
		to, err = t.normalize(to, t.maximum())
	}
	small, large := c.Resource, to
	if !more {
		small, large = to, c.Resource
	}
	if err != nil || !small.FitsIn(large) {
		return outOfRange, c.Version
	}
	if !t.resize(c, to, u.Kind) {
		t.growing = append(t.growing, growth{c.ID, to})
	}
	return "", c.Version
}

// resize gives a container another size if it can have it now, and tells whom it concerns: its ApplicationMaster, who brings
// the node word of more, and the node itself of less.
func (l *Leader) resize(c *ledger.Container, to records.Resource, kind pb.ContainerUpdateType) bool {
	if h, ok := handleOf(c); !ok || !l.sched.ResizeContainer(h, to) {
		return false
	}
	l.enter(&ledgerpb.Command{ContainerResized: &ledgerpb.ContainerResized{
		Container: ledger.ContainerRef(c.ID), Resource: ledger.Amounts(to),
	}})
	if c.Confirmed != c.Resource && kind == pb.ContainerUpdateType_INCREASE_RESOURCE {
		l.grown = append(l.grown, grown{c.ID, l.Now().Add(l.Settings.AllocationExpiry)})
	}
	soft, node := l.apps[c.ID.Attempt.App], l.nodes[c.Node]
	g := l.grant(c)
	l.after(func() {
		soft.resized = append(soft.resized, Resized{Kind: kind, Grant: g})
		soft.session.wakeUp()
		if kind == pb.ContainerUpdateType_DECREASE_RESOURCE && node != nil {
			node.session.shrink(g)
		}
	})
	return true
}

// grow tries the containers that wait for room.
func (l *Leader) grow() {
	if len(l.growing) == 0 {
		return
	}
	l.growing = slices.DeleteFunc(l.growing, func(g growth) bool {
		c := l.work.Container(g.id)
		return c == nil || !c.Live() || l.resize(c, g.to, pb.ContainerUpdateType_INCREASE_RESOURCE)
	})
}

// confirm takes what a node says that it gives a container. What is more than the container holds is taken away there: the
// ApplicationMaster has wished for more and for less before the node could tell (Hadoop: RMContainerImpl's
// NMReportedContainerChangeIsDoneTransition).
func (t *turn) confirm(n *nodeSoft, c *ledger.Container, given *pb.Resource) {
	size, err := t.fromPB(given)
	if err != nil {
		t.Log.WithField("container", c.ID).WithField("node", n.id).WithError(err).Warn("its node tells a size that can't be read")
		return
	}
	if confirmed := size.Min(c.Resource).Max(c.Confirmed); confirmed != c.Confirmed {
		t.enter(&ledgerpb.Command{ContainerConfirmed: &ledgerpb.ContainerConfirmed{
			Container: ledger.ContainerRef(c.ID), Resource: ledger.Amounts(confirmed),
		}})
	}
	if !size.FitsIn(c.Resource) {
		g := t.grant(c)
		t.after(func() { n.session.shrink(g) })
	}
}

// increased takes the containers that a node has given more.
func (t *turn) increased(n *nodeSoft, sizes []NodeContainer) {
	for i := range sizes {
		if c := t.work.Container(sizes[i].ID); c != nil && c.Live() && c.Node == n.id {
			t.confirm(n, c, sizes[i].Resource)
		}
	}
}

// expireGrown takes back what containers were given and their ApplicationMasters never brought their nodes word of. The time
// for it begins anew with each further growth.
func (t *turn) expireGrown(now time.Time) {
	i := 0
	for ; i < len(t.grown) && now.After(t.grown[i].deadline); i++ {
		id := t.grown[i].id
		c := t.work.Container(id)
		if c == nil || !c.Live() || c.Confirmed == c.Resource ||
			slices.ContainsFunc(t.grown[i+1:], func(g grown) bool { return g.id == id }) {
			continue
		}
		t.Log.WithField("container", id).WithField("node", c.Node).Warn("a container's growth was never used, and is taken back")
		t.resize(c, c.Confirmed, pb.ContainerUpdateType_DECREASE_RESOURCE)
	}
	t.grown = append(t.grown[:0], t.grown[i:]...)
}
