package leader

import (
	"time"

	"heddle/rm/leader/request"
	"heddle/rm/leader/session"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// resizing gives containers other sizes.
type resizing struct {
	*core
	requests *request.Checker
	grown    grownList // containers that were given more, by the time when their nodes must know
}

// ContainerUpdate is the wish to change a container (YARN: UpdateContainerRequest).
type ContainerUpdate struct {
	ID         records.ContainerID
	Version    int32 // that the ApplicationMaster knows
	Kind       pb.ContainerUpdateType
	Capability *pb.Resource
}

// Resized is a container that has another size, by the wish of its ApplicationMaster.
type Resized = session.Resized

// Unresized is a wish that is refused.
type Unresized struct {
	Index   int // of the wish in its call
	Reason  string
	Version int32 // of the container
}

// grown is a container that was given more, of which its node must know by a deadline.
type grown struct {
	id       records.ContainerID
	deadline time.Time
}

// grownList are such containers, by the deadline; further counts how often each is among them.
type grownList struct {
	list    []grown
	further map[records.ContainerID]int
}

func (g *grownList) add(id records.ContainerID, deadline time.Time) {
	if g.further == nil {
		g.further = map[records.ContainerID]int{}
	}
	g.further[id]++
	g.list = append(g.list, grown{id, deadline})
}

// due takes out those whose time is up and has not begun anew since.
func (g *grownList) due(now time.Time) (ids []records.ContainerID) {
	n := 0
	for ; n < len(g.list) && now.After(g.list[n].deadline); n++ {
		id := g.list[n].id
		if g.further[id]--; g.further[id] == 0 {
			delete(g.further, id)
			ids = append(ids, id)
		}
	}
	g.list = append(g.list[:0], g.list[n:]...)
	return ids
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
// soon as the driver decides so.
func (rs *resizing) resizeAll(app *ledger.Application, wishes []ContainerUpdate) (refused []Unresized) {
	for i := range wishes {
		if reason, version := rs.resizeOne(app, &wishes[i]); reason != "" {
			refused = append(refused, Unresized{Index: i, Reason: reason, Version: version})
		}
	}
	return refused
}

func (rs *resizing) resizeOne(app *ledger.Application, u *ContainerUpdate) (reason string, version int32) {
	c := app.Containers.Get(u.ID)
	if c == nil || !c.Live() {
		return unknownID, 0
	}
	if u.Version != c.Version {
		return wrongVersion, c.Version
	}
	h, there := handleOf(c)
	if there && rs.sched.Growing(h) {
		return outstanding, c.Version
	}
	more := u.Kind == pb.ContainerUpdateType_INCREASE_RESOURCE
	if !more && u.Kind != pb.ContainerUpdateType_DECREASE_RESOURCE {
		return typesStayFixed, c.Version
	}
	to, err := rs.requests.Size(u.Capability)
	if err == nil {
		to, err = rs.requests.Normalize(to, rs.requests.Maximum())
	}
	small, large := c.Resource, to
	if !more {
		small, large = to, c.Resource
	}
	if err != nil || !small.FitsIn(large) {
		return outOfRange, c.Version
	}
	switch {
	case !there:
	case more:
		rs.sched.Grow(h, to)
	default:
		rs.shrink(c, h, to)
	}
	return "", c.Version
}

// shrink gives a container less.
func (rs *resizing) shrink(c *ledger.Container, h scheduler.ContainerHandle, to records.Resource) {
	if rs.sched.ResizeContainer(h, to) {
		rs.resized(c, to, pb.ContainerUpdateType_DECREASE_RESOURCE)
	}
}

// hasGrown carries out the decision that a container has more from now on.
func (rs *resizing) hasGrown(d *drive.Decision) {
	if c := rs.work.Container(rs.sched.ContainerID(d.Container)); c != nil && c.Live() {
		rs.resized(c, d.Resource, pb.ContainerUpdateType_INCREASE_RESOURCE)
	}
}

// resized records a container's new size and tells whom it concerns: its ApplicationMaster, who brings the node word of more, and
// the node itself of less.
func (rs *resizing) resized(c *ledger.Container, to records.Resource, kind pb.ContainerUpdateType) {
	rs.Enter(&ledgerpb.Command{ContainerResized: &ledgerpb.ContainerResized{
		Container: ledger.ContainerRef(c.ID), Resource: ledger.Amounts(to),
	}})
	if c.Confirmed != c.Resource && kind == pb.ContainerUpdateType_INCREASE_RESOURCE {
		rs.grown.add(c.ID, rs.Now().Add(rs.Settings.AllocationExpiry))
	}
	soft, node := rs.apps[c.ID.Attempt.App], rs.nodes[c.Node]
	g := grantOf(c)
	rs.AfterCommit(func() {
		soft.box.Resize(Resized{Kind: kind, Grant: g})
		if kind == pb.ContainerUpdateType_DECREASE_RESOURCE && node != nil {
			node.session.box.Shrink(g)
		}
	})
}

// confirm takes what a node says that it gives a container. What is more than the container holds is taken away there: the
// ApplicationMaster has wished for more and for less before the node could tell (Hadoop: RMContainerImpl's
// NMReportedContainerChangeIsDoneTransition).
func (rs *resizing) confirm(n *nodeSoft, c *ledger.Container, given *pb.Resource) {
	size, err := rs.requests.Size(given)
	if err != nil {
		rs.Log.WithField("container", c.ID).WithField("node", n.id).WithError(err).Warn("its node tells a size that can't be read")
		return
	}
	if confirmed := size.Min(c.Resource).Max(c.Confirmed); confirmed != c.Confirmed {
		rs.Enter(&ledgerpb.Command{ContainerConfirmed: &ledgerpb.ContainerConfirmed{
			Container: ledger.ContainerRef(c.ID), Resource: ledger.Amounts(confirmed),
		}})
	}
	if !size.FitsIn(c.Resource) {
		g := grantOf(c)
		rs.AfterCommit(func() { n.session.box.Shrink(g) })
	}
}

// increased takes the containers that a node has given more.
func (rs *resizing) increased(n *nodeSoft, sizes []NodeContainer) {
	for i := range sizes {
		if c := rs.work.Container(sizes[i].ID); c != nil && c.Live() && c.Node == n.id {
			rs.confirm(n, c, sizes[i].Resource)
		}
	}
}

// expireGrown takes back what containers were given and their ApplicationMasters never brought their nodes word of. The time
// for it begins anew with each further growth.
func (rs *resizing) expireGrown(now time.Time) {
	for _, id := range rs.grown.due(now) {
		c := rs.work.Container(id)
		if c == nil || !c.Live() || c.Confirmed == c.Resource {
			continue
		}
		rs.Log.WithField("container", id).WithField("node", c.Node).Warn("a container's growth was never used, and is taken back")
		if h, there := handleOf(c); there {
			rs.shrink(c, h, c.Confirmed)
		}
	}
}
