package level

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

// Order tells a node to what level to bring a container.
type Order struct {
	Container records.ContainerID
	Level     ledgerpb.Level
	Held      records.Resource // what it takes of the node from now on
	Version   int32            // of the level: a node takes each order once
	For       string           // path of the queue for which it is suspended or shrunk; "" is a person
}

// Failed is an order that a node can't carry out.
type Failed struct {
	Container records.ContainerID
	Version   int32
	Reason    string
}

// order is one that a container's node has not answered. A later order replaces it.
type order struct {
	Order
	was     ledgerpb.Level // before it
	number  int64
	leveled bool // its node knows levels
	asking  bool
	again   time.Time // when to send it once more
}

const (
	pause    = 5 * time.Second  // between two tries to send an order
	patience = 10 * time.Second // for the answer to one
)

// want records at which level a container is to be, and remembers the order until its node answers it.
func (l *Levels) want(c *ledger.Container, level ledgerpb.Level, held records.Resource, by string) *order {
	was := c.Level
	l.record(c, level, held)
	l.number++
	n := l.work.Nodes[c.Node]
	o := &order{
		Order: Order{Container: c.ID, Level: level, Held: held, Version: c.LevelVersion, For: by},
		was:   was, number: l.number, again: l.loop.Now().Add(pause), leveled: n != nil && slices.Contains(n.Features, FeatureLevels),
	}
	l.orders[c.ID] = o
	return o
}

func (l *Levels) record(c *ledger.Container, level ledgerpb.Level, held records.Resource) {
	switch suspended := level != ledgerpb.Level_RUNNING; {
	case c.Level == level && c.Held() == held:
	case l.work.Version >= firstVersion:
		l.loop.Enter(c.ChangeLevel(level, held))
	case suspended:
		l.loop.Enter(&ledgerpb.Command{ContainersSuspended: &ledgerpb.ContainersSuspended{Containers: ledger.ContainerRefs(c.ID)}})
	default:
		l.loop.Enter(&ledgerpb.Command{ContainersResumed: &ledgerpb.ContainersResumed{Containers: ledger.ContainerRefs(c.ID)}})
	}
}

// levelOf is the level of a container that somebody suspends, or lets go on with what it holds.
func levelOf(c *ledger.Container, suspend bool, held records.Resource) ledgerpb.Level {
	switch {
	case suspend && c.Suspended():
		return c.Level
	case suspend:
		return ledgerpb.Level_FROZEN
	case held != c.Resource:
		return ledgerpb.Level_SHRUNK
	}
	return ledgerpb.Level_RUNNING
}

// carry has a node carry an order out. A node that knows no levels freezes and thaws.
func (l *Levels) carry(ctx context.Context, node records.NodeID, o *order) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	id := o.Container
	switch {
	case o.leveled:
		return l.Nodes().Order(ctx, node, o.Order)
	case o.Level == ledgerpb.Level_FROZEN || o.Level == ledgerpb.Level_RECLAIMED:
		return l.Nodes().Suspend(ctx, node, id.Attempt, id)
	}
	return l.Nodes().Resume(ctx, node, id.Attempt, id)
}

// settle records the answer of a node to an order. What the node refuses is taken back, and what it did not receive is sent again.
func (l *Levels) settle(o *order, err error) {
	id := o.Container
	if now := l.orders[id]; now == nil || now.number != o.number {
		return // there is a later one
	}
	o.asking, o.again = false, l.loop.Now().Add(pause)
	switch c := l.work.Container(id); {
	case err == nil, c == nil, !c.Live():
		delete(l.orders, id)
	case refusal.Is(err, refusal.Refused):
		delete(l.orders, id)
		l.Log.WithField("container", id).WithField("node", c.Node).WithError(err).Warn("its node can't bring it to level " + o.Level.String())
		l.takeBack(c, o)
	}
}

// takeBack records that a container is where it was before an order that its node refuses. One that the driver has chosen holds its claim
// then, as it runs on, and isn't chosen again.
func (l *Levels) takeBack(c *ledger.Container, o *order) {
	h, ok := l.HandleOf(c)
	switch {
	case o.For != "" && ok && o.Level != ledgerpb.Level_RUNNING:
		l.Scheduler.Refused(h)
		l.record(c, ledgerpb.Level_RUNNING, c.Resource)
	case o.was == ledgerpb.Level_RUNNING && c.Held() != c.Resource:
		l.record(c, ledgerpb.Level_SHRUNK, c.Held())
	default:
		l.record(c, o.was, c.Held())
	}
}

// Failed takes back what a node says that it can't do, of orders that hold.
func (l *Levels) Failed(orders []Failed) {
	for _, f := range orders {
		c := l.work.Container(f.Container)
		if c == nil || !c.Live() || f.Version != c.LevelVersion || c.Level == ledgerpb.Level_RUNNING {
			continue
		}
		l.number++
		o := &order{Order: Order{Container: c.ID, Level: c.Level}, number: l.number}
		if h, ok := l.HandleOf(c); ok {
			_, o.For, _ = l.Scheduler.Suspended(h)
		}
		l.orders[c.ID] = o
		l.settle(o, refusal.New(refusal.Refused, "%s", f.Reason))
	}
}

// Repeat sends the orders once more that nodes have not answered.
func (l *Levels) Repeat(now time.Time) {
	for id, o := range l.orders {
		if !now.Before(o.again) {
			l.send(id)
		}
	}
}

// send sends the order for a container, if there is one that isn't under way.
func (l *Levels) send(id records.ContainerID) {
	o, c := l.orders[id], l.work.Container(id)
	switch {
	case o == nil || o.asking:
		return
	case c == nil || !c.Live():
		delete(l.orders, id)
		return
	}
	o.asking = true
	node, sent := c.Node, *o
	l.loop.Go(func(ctx context.Context) {
		err := l.carry(ctx, node, &sent)
		_ = l.loop.Do(func() error { // the next leader compares what nodes register with
			l.settle(o, err)
			return nil
		})
	})
}

// Reported compares whether a container is suspended, by its node's report, to what is on record. first is whether the report is the node's
// first after its registration.
func (l *Levels) Reported(c *ledger.Container, sub pb.ContainerSubState, first bool) {
	suspended := sub == pb.ContainerSubState_CSS_PAUSED
	if l.orders[c.ID] != nil || !suspended && sub != pb.ContainerSubState_CSS_RUNNING || !l.suspends(c.Node) {
		return
	}
	same := suspended == c.Suspended()
	if first && (!same || c.Level == ledgerpb.Level_SHRUNK) {
		by := ""
		if h, ok := l.HandleOf(c); ok {
			_, by, _ = l.Scheduler.Suspended(h)
		}
		l.want(c, c.Level, c.Held(), by).again = l.loop.Now()
		return
	}
	if !same {
		l.changed(c, suspended)
	}
}

// changed records that a container was suspended, or goes on, without an order.
func (l *Levels) changed(c *ledger.Container, suspended bool) {
	held := c.Held()
	if h, ok := l.HandleOf(c); ok && !suspended {
		if _, _, by := l.Scheduler.Suspended(h); by && l.Scheduler.Return(h, true) {
			held = c.Resource
		}
	}
	l.record(c, levelOf(c, suspended, held), held)
}
