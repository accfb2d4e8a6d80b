package leader

import (
	"slices"

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
	c := app.Containers[u.ID]
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
	if !l.sched.ResizeContainer(l.containers[c.ID], to) {
		return false
	}
	l.enter(&ledgerpb.Command{ContainerResized: &ledgerpb.ContainerResized{
		Container: ledger.ContainerRef(c.ID), Resource: ledger.Amounts(to),
	}})
	soft, node := l.apps[c.ID.Attempt.App], l.nodes[c.Node]
	g := l.grant(l.work.Apps[c.ID.Attempt.App], c)
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
