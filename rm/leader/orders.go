package leader

import (
	"context"
	"slices"
	"time"

	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// The ledger records first whether a container runs or is suspended. Then the leader orders its node to do so, until the node answers.
// When a node has registered, its containers are brought to what is on record: the last leader may have died before it sent the order.
// If a container changes later without an order, its ApplicationMaster has asked the node for it, and the change goes on record.

// order is one to suspend or resume a container that its node has not answered. A later order replaces it.
type order struct {
	suspend bool
	version int64
	asking  bool
	again   time.Time // when to send it once more
}

const (
	orderPause    = 5 * time.Second  // between two tries to send an order
	orderPatience = 10 * time.Second // for the answer to one
)

// want records whether a container is to be suspended, and remembers the order until its node answers it.
func (su *suspension) want(id records.ContainerID, suspend bool) (version int64) {
	su.record(id, suspend)
	su.version++
	if su.orders == nil {
		su.orders = map[records.ContainerID]*order{}
	}
	su.orders[id] = &order{suspend: suspend, version: su.version, again: su.Now().Add(orderPause)}
	return su.version
}

func (su *suspension) record(id records.ContainerID, suspend bool) {
	c, refs := su.work.Container(id), ledger.ContainerRefs(id)
	switch {
	case c.Suspended() == suspend:
	case su.work.Version >= 3:
		su.Enter(c.ChangeLevel(levelOf(c, suspend), c.Held()))
	case suspend:
		su.Enter(&ledgerpb.Command{ContainersSuspended: &ledgerpb.ContainersSuspended{Containers: refs}})
	default:
		su.Enter(&ledgerpb.Command{ContainersResumed: &ledgerpb.ContainersResumed{Containers: refs}})
	}
}

// levelOf is the level of a container that is suspended, or goes on with what it holds.
func levelOf(c *ledger.Container, suspend bool) ledgerpb.Level {
	switch {
	case suspend:
		return ledgerpb.Level_FROZEN
	case c.Held() != c.Resource:
		return ledgerpb.Level_SHRUNK
	}
	return ledgerpb.Level_RUNNING
}

func (su *suspension) sendOrder(ctx context.Context, node records.NodeID, id records.ContainerID, suspend bool) error {
	ctx, cancel := context.WithTimeout(ctx, orderPatience)
	defer cancel()
	if suspend {
		return su.Launcher.Suspend(ctx, node, id.Attempt, id)
	}
	return su.Launcher.Resume(ctx, node, id.Attempt, id)
}

// settleOrder records the answer of a node to an order. What the node refuses is taken back, and what it did not receive is sent again.
func (su *suspension) settleOrder(id records.ContainerID, version int64, err error) {
	o := su.orders[id]
	if o == nil || o.version != version {
		return // there is a later one
	}
	o.asking, o.again = false, su.Now().Add(orderPause)
	switch c := su.work.Container(id); {
	case err == nil, c == nil, !c.Live():
		delete(su.orders, id)
	case refusal.Is(err, refusal.Refused):
		delete(su.orders, id)
		su.record(id, !o.suspend)
	}
}

// repeatOrders sends the orders once more that nodes have not answered.
func (su *suspension) repeatOrders(now time.Time) {
	for id, o := range su.orders {
		c := su.work.Container(id)
		if c == nil || !c.Live() {
			delete(su.orders, id)
			continue
		}
		if o.asking || now.Before(o.again) {
			continue
		}
		o.asking = true
		node, suspend, version := c.Node, o.suspend, o.version
		su.Go(func(ctx context.Context) {
			err := su.sendOrder(ctx, node, id, suspend)
			_ = su.Do(func() error { // the next leader compares what nodes register with
				su.settleOrder(id, version, err)
				return nil
			})
		})
	}
}

// level compares whether a container is suspended, by its node's report, to what is on record. first is whether the report is the node's
// first after its registration.
func (su *suspension) level(c *ledger.Container, sub pb.ContainerSubState, first bool) {
	suspended := sub == pb.ContainerSubState_CSS_PAUSED
	if su.orders[c.ID] != nil || suspended == c.Suspended() || !suspended && sub != pb.ContainerSubState_CSS_RUNNING {
		return
	}
	if n := su.work.Nodes[c.Node]; n == nil || !slices.Contains(n.Features, FeatureSuspend) {
		return
	}
	if first {
		su.want(c.ID, c.Suspended())
		su.orders[c.ID].again = su.Now()
		return
	}
	su.record(c.ID, suspended)
}
