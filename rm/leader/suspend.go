package leader

import (
	"context"
	"slices"

	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/yarn/records"
)

// suspension brings containers and nodes to what is on record: running or suspended.
type suspension struct {
	*core
	orders  map[records.ContainerID]*order // that nodes have not answered yet
	version int64                          // of the last order
}

// FeatureSuspend is the name under which nodes announce that they can suspend containers.
const FeatureSuspend = "suspend"

// Suspend freezes a running container; Resume lets it go on. They return when the node has done it. If
// the node doesn't answer, what is on record still holds: the order is sent again.
func (su *suspension) Suspend(ctx context.Context, id records.ContainerID) error {
	return su.setSuspended(ctx, id, true)
}

// Resume lets a suspended container go on.
func (su *suspension) Resume(ctx context.Context, id records.ContainerID) error {
	return su.setSuspended(ctx, id, false)
}

func (su *suspension) setSuspended(ctx context.Context, id records.ContainerID, suspend bool) error {
	var node records.NodeID
	var version int64
	err := su.Do(func() error {
		c, err := su.runningContainer(id)
		if err != nil {
			return err
		}
		if n := su.work.Nodes[c.Node]; n == nil || !slices.Contains(n.Features, FeatureSuspend) {
			return refusal.New(refusal.Refused, "node %v of container %v can't suspend containers: it is no Heddle NodeManager, "+
				"or its machine lacks a cgroup freezer", c.Node, id)
		}
		node, version = c.Node, su.want(id, suspend)
		su.orders[id].asking = true
		return nil
	})
	if err != nil {
		return err
	}
	err = su.sendOrder(ctx, node, id, suspend)
	if over := su.Do(func() error { su.settleOrder(id, version, err); return nil }); err == nil {
		err = over
	}
	return err
}

func (su *suspension) runningContainer(id records.ContainerID) (*ledger.Container, error) {
	c := su.work.Container(id)
	if c == nil || !c.Live() {
		return nil, refusal.New(refusal.NoSuchContainer, "Container %v doesn't exist, or has ended", id)
	}
	if c.State == ledger.ContainerAllocated && !c.AM {
		return nil, refusal.New(refusal.Refused, "Container %v has not been started yet", id)
	}
	return c, nil
}

// Signal sends a command to a container with its node's next heartbeat.
func (su *suspension) Signal(s Signal) error {
	return su.Do(func() error {
		c := su.work.Container(s.Container)
		if c == nil || !c.Live() {
			return refusal.New(refusal.NoSuchContainer, "Trying to signal an absent container %v", s.Container)
		}
		if n := su.nodes[c.Node]; n != nil {
			su.AfterCommit(func() { n.session.box.Signal(s) })
		}
		return nil
	})
}
