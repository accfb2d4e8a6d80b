package leader

import (
	"context"
	"slices"
	"time"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// What a container is to be, running or suspended, is put on record first; then its node is told, again and again until it answers. What
// a node reports after it has registered is brought to what is on record: the leader that wanted it may have died before it told the node. What
// changes on a node later without an order of ours, an ApplicationMaster has asked the node for; it goes on record.

// order is what a node is still to be told of a container. Of two the later one holds.
type order struct {
	suspend bool
	version int64
	asking  bool
	again   time.Time // when it is told once more
}

// orderPause is the time between two tries to tell a node.
const (
	orderPause    = 5 * time.Second
	orderPatience = 10 * time.Second
)

// want puts on record what a container is to be, and notes that its node is to be told.
func (t *turn) want(id records.ContainerID, suspend bool) (version int64) {
	t.record(id, suspend)
	t.seq++
	if t.orders == nil {
		t.orders = map[records.ContainerID]*order{}
	}
	t.orders[id] = &order{suspend: suspend, version: t.seq, again: t.Now().Add(orderPause)}
	return t.seq
}

func (t *turn) record(id records.ContainerID, suspend bool) {
	if c := t.work.Container(id); c.Suspended == suspend {
		return
	}
	refs := ledger.ContainerRefs(id)
	if suspend {
		t.Enter(&ledgerpb.Command{ContainersSuspended: &ledgerpb.ContainersSuspended{Containers: refs}})
	} else {
		t.Enter(&ledgerpb.Command{ContainersResumed: &ledgerpb.ContainersResumed{Containers: refs}})
	}
}

func (l *Leader) tell(ctx context.Context, node records.NodeID, id records.ContainerID, suspend bool) error {
	ctx, cancel := context.WithTimeout(ctx, orderPatience)
	defer cancel()
	if suspend {
		return l.Launcher.Suspend(ctx, node, id.Attempt, id)
	}
	return l.Launcher.Resume(ctx, node, id.Attempt, id)
}

// told takes note of what a node has answered to an order. What it refuses is taken back, and what it didn't hear is repeated.
func (t *turn) told(id records.ContainerID, version int64, err error) {
	o := t.orders[id]
	if o == nil || o.version != version {
		return // there is a later one
	}
	o.asking, o.again = false, t.Now().Add(orderPause)
	switch c := t.work.Container(id); {
	case err == nil, c == nil, !c.Live():
		delete(t.orders, id)
	case IsReason(err, Refused):
		delete(t.orders, id)
		t.record(id, !o.suspend)
	}
}

// repeatOrders tells nodes what they haven't heard.
func (t *turn) repeatOrders(now time.Time) {
	for id, o := range t.orders {
		c := t.work.Container(id)
		if c == nil || !c.Live() {
			delete(t.orders, id)
			continue
		}
		if o.asking || now.Before(o.again) {
			continue
		}
		o.asking = true
		leader, node, suspend, version := t.Leader, c.Node, o.suspend, o.version
		leader.Go(func(ctx context.Context) {
			err := leader.tell(ctx, node, id, suspend)
			_ = leader.do(func(t *turn) error { // the next leader compares what nodes register with
				t.told(id, version, err)
				return nil
			})
		})
	}
}

// level takes into account whether a container is suspended, as its node reports; first is after its registration.
func (t *turn) level(c *ledger.Container, sub pb.ContainerSubState, first bool) {
	suspended := sub == pb.ContainerSubState_CSS_PAUSED
	if t.orders[c.ID] != nil || suspended == c.Suspended || !suspended && sub != pb.ContainerSubState_CSS_RUNNING {
		return
	}
	if n := t.work.Nodes[c.Node]; n == nil || !slices.Contains(n.Features, FeatureSuspend) {
		return
	}
	if first {
		t.want(c.ID, c.Suspended)
		t.orders[c.ID].again = t.Now()
		return
	}
	t.record(c.ID, suspended)
}
