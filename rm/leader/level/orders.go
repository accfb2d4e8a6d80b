package level

import (
	"context"
	"slices"
	"time"

	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/eventlog"
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
	// BreathEvery is the time in ms between two moments in which it runs; 0: as suits its framework, less: it never does.
	BreathEvery int64
	Type        string // of its application: the framework
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
	all     bool // the container is to resume also where its application suspends it
	asking  bool
	since   time.Time // when it was decided
	again   time.Time // when to send it once more
}

const (
	pause    = 5 * time.Second  // between two tries to send an order
	patience = 10 * time.Second // for the answer to one
)

// want records at which level a container is to be, and remembers the order until its node answers it.
func (l *Levels) want(c *ledger.Container, level ledgerpb.Level, held records.Resource, cause ledger.Cause) *order {
	was := c.Level
	l.record(c, level, held, cause)
	l.number++
	n := l.work.Nodes[c.Node]
	o := &order{
		Order: l.orderOf(c, level, held, cause),
		was:   was, number: l.number, since: l.loop.Now(), again: l.loop.Now().Add(pause), leveled: n != nil && slices.Contains(n.Features, FeatureLevels),
	}
	l.put(o, c.Node)
	l.latest[c.ID] = c.LevelVersion
	return o
}

// again orders what is on record. A container whose node refuses it then runs.
func (l *Levels) again(c *ledger.Container) *order {
	o := l.want(c, c.Level, c.Held(), c.Suspension().Cause)
	o.was = ledgerpb.Level_RUNNING
	return o
}

// orderOf returns the order that a container's node gets, or would get.
func (l *Levels) orderOf(c *ledger.Container, level ledgerpb.Level, held records.Resource, cause ledger.Cause) Order {
	framework := ""
	if app := l.work.Apps[c.ID.Attempt.App]; app != nil {
		framework = app.Context.GetApplicationType()
	}
	return Order{Container: c.ID, Level: level, Held: held, Version: c.LevelVersion, For: cause.Queue, BreathEvery: cause.BreathEvery, Type: framework}
}

// record enters the level of a container, and what it holds there. The cause is of a level other than RUNNING.
func (l *Levels) record(c *ledger.Container, level ledgerpb.Level, held records.Resource, cause ledger.Cause) {
	l.tellStopped(c, level, cause)
	switch suspended := level != ledgerpb.Level_RUNNING; {
	case c.Level == level && c.Held() == held:
	case l.work.Version >= firstVersion:
		if l.work.Version < ledger.CauseVersion {
			cause = ledger.Cause{}
		}
		l.loop.Enter(c.ChangeLevel(level, held, cause))
	case suspended:
		l.loop.Enter(&ledgerpb.Command{ContainersSuspended: &ledgerpb.ContainersSuspended{Containers: ledger.ContainerRefs(c.ID)}})
	default:
		l.loop.Enter(&ledgerpb.Command{ContainersResumed: &ledgerpb.ContainersResumed{Containers: ledger.ContainerRefs(c.ID)}})
	}
	if c.Starved() {
		l.notify(c)
	}
}

// notify tells the ApplicationMaster after commit whether the container is suspended, until the node reports it running.
func (l *Levels) notify(c *ledger.Container) {
	suspended := c.Starved()
	if l.Tell == nil || !suspended && l.byContainer[c.ID] != nil {
		return
	}
	l.loop.AfterCommit(func() {
		if c.Live() {
			l.Tell(c, suspended)
		}
	})
}

// tellStopped tells the driver whether a container is suspended that it hasn't chosen: it isn't to choose it then.
func (l *Levels) tellStopped(c *ledger.Container, level ledgerpb.Level, cause ledger.Cause) {
	h, ok := l.HandleOf(c)
	if !ok {
		return
	}
	was := c.Suspended() && c.Suspension().Queue == ""
	is := (level == ledgerpb.Level_FROZEN || level == ledgerpb.Level_RECLAIMED) && cause.Queue == "" && !l.chosen(h)
	if was != is {
		l.Scheduler.Apply(&eventlog.Event{Op: eventlog.SetStopped, Container: h, Open: is})
	}
}

// carry sends an order to its node. A node that knows no levels freezes and thaws.
func (l *Levels) carry(ctx context.Context, node records.NodeID, o *order) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	id := o.Container
	switch {
	case o.leveled:
		if err := l.Nodes().Order(ctx, node, o.Order); err != nil || !o.all {
			return err
		}
		if err := l.Nodes().Resume(ctx, node, id.Attempt, id); !refusal.Is(err, refusal.Refused) {
			return err
		}
		return nil // it is about to end
	case o.Level == ledgerpb.Level_FROZEN || o.Level == ledgerpb.Level_RECLAIMED:
		return l.Nodes().Suspend(ctx, node, id.Attempt, id)
	}
	return l.Nodes().Resume(ctx, node, id.Attempt, id)
}

// tellAhead tells a container's node whether room waits for its return, so that the node reads what was paged out before it is to resume. If the node doesn't hear of
// that, the container only takes longer to come back.
func (l *Levels) tellAhead(c *ledger.Container, waits bool) {
	if n := l.work.Nodes[c.Node]; c.Level != ledgerpb.Level_RECLAIMED || n == nil || !slices.Contains(n.Features, FeatureLevels) {
		return
	}
	node, id := c.Node, c.ID
	l.loop.AfterCommit(func() {
		l.loop.Go(func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			if err := l.Nodes().Ahead(ctx, node, id, waits); err != nil {
				l.Log.WithField("container", id).WithField("node", node).WithError(err).Debug("its node wasn't told whether room waits for its return")
			}
		})
	})
}

// settle records the answer of a node to an order. A refused order is taken back; one that the node did not receive is sent again.
func (l *Levels) settle(o *order, err error) {
	id := o.Container
	if now := l.byContainer[id]; now == nil || now.number != o.number {
		return // there is a later one
	}
	o.asking, o.again = false, l.loop.Now().Add(pause)
	switch c := l.work.Container(id); {
	case c == nil, !c.Live():
		l.drop(id)
	case err == nil:
		l.drop(id)
		l.notify(c)
	case refusal.Is(err, refusal.Refused) && o.For != "" && o.Level == ledgerpb.Level_RUNNING: // it has its room, and no other would resume it
		l.Log.WithField("container", id).WithField("node", c.Node).WithError(err).Warn("node can't resume the container yet; retrying")
	case refusal.Is(err, refusal.Refused):
		l.drop(id)
		l.Log.WithField("container", id).WithField("node", c.Node).WithError(err).Warn("its node can't bring it to level " + o.Level.String())
		l.takeBack(c, o)
		l.notify(c)
	}
}

// giveBack gives a suspended container its claim again, if there is room or it is forced to. It reports whether it did.
func giveBack(s Scheduler, h scheduler.ContainerHandle, forced bool) bool {
	return s.Apply(&eventlog.Event{Op: eventlog.Return, Container: h, Forced: forced})
}

// takeBack records that a container is where it was before an order that its node refuses. One that the driver has chosen holds its claim
// then, as it runs on, and isn't chosen again, unless it has not even begun.
func (l *Levels) takeBack(c *ledger.Container, o *order) {
	h, ok := l.HandleOf(c)
	cause := c.Suspension().Cause
	switch {
	case o.For != "" && ok && o.Level != ledgerpb.Level_RUNNING:
		op := eventlog.NotBegun
		if c.State == ledger.ContainerRunning {
			op = eventlog.Refused
		}
		l.Scheduler.Apply(&eventlog.Event{Op: op, Container: h})
		l.refused(c.ID)
		l.record(c, ledgerpb.Level_RUNNING, c.Resource, cause)
	case o.was == ledgerpb.Level_RUNNING && o.Level != ledgerpb.Level_RUNNING:
		if ok {
			giveBack(l.Scheduler, h, true)
		}
		l.record(c, ledgerpb.Level_RUNNING, c.Resource, cause)
	default:
		l.record(c, o.was, c.Held(), cause)
	}
}

// Failed takes back what a node says that it can't do, of orders that hold: no later one was given. The record may have a later
// version, as what a container is charged changes without an order.
func (l *Levels) Failed(orders []Failed) {
	for _, f := range orders {
		c := l.work.Container(f.Container)
		if c == nil || !c.Live() || f.Version < l.latest[f.Container] || f.Version > c.LevelVersion || c.Level == ledgerpb.Level_RUNNING {
			continue
		}
		l.number++
		o := &order{Order: Order{Container: c.ID, Level: c.Level}, number: l.number, since: l.loop.Now()}
		if h, ok := l.HandleOf(c); ok {
			_, o.For, _ = l.Scheduler.Suspended(h)
		}
		l.put(o, c.Node)
		l.settle(o, refusal.New(refusal.Refused, "%s", f.Reason))
	}
}

// Tick sends the orders once more that nodes have not answered.
func (l *Levels) Tick(now time.Time) {
	for id, o := range l.byContainer {
		if !now.Before(o.again) {
			l.send(id)
		}
	}
	for id := range l.unreclaimable {
		if c := l.work.Container(id); c == nil || !c.Live() {
			delete(l.unreclaimable, id)
		}
	}
	for id := range l.latest {
		if c := l.work.Container(id); c == nil || !c.Live() {
			delete(l.latest, id)
		}
	}
	for id := range l.underWay {
		if c := l.work.Container(id); c == nil || !c.Live() {
			l.drop(id)
		}
	}
}

// send sends the order for a container, if there is one that isn't under way.
func (l *Levels) send(id records.ContainerID) {
	o, c := l.byContainer[id], l.work.Container(id)
	switch {
	case o == nil || o.asking:
		return
	case c == nil || !c.Live():
		l.drop(id)
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
	if l.byContainer[c.ID] != nil || !suspended && sub != pb.ContainerSubState_CSS_RUNNING || !l.suspends(c.Node) {
		return
	}
	same := suspended == c.Suspended()
	switch {
	case suspended && c.Level == ledgerpb.Level_SHRUNK && !first:
		return // its application suspends it, and when that is over it is shrunk as before
	case !suspended && c.Level == ledgerpb.Level_FROZEN && l.work.Version >= ledger.CauseVersion && c.Suspension().Cause == (ledger.Cause{}):
		first = false // its application had it so: the node knows better than the record
	}
	if first && (!same || c.Level == ledgerpb.Level_SHRUNK) {
		l.again(c).again = l.loop.Now()
		return
	}
	l.drop(c.ID) // it was inherited
	if !same {
		l.changed(c, suspended)
	}
}

// changed records that a container was suspended, or resumes, without an order: its ApplicationMaster did that, or its node's own REST API.
// One that continues has its claim again.
func (l *Levels) changed(c *ledger.Container, suspended bool) {
	if suspended {
		cause := ledger.Cause{}
		if c.Level != ledgerpb.Level_RUNNING {
			cause = c.Suspension().Cause
		}
		l.record(c, ledgerpb.Level_FROZEN, c.Held(), cause)
		return
	}
	if h, ok := l.HandleOf(c); ok && !giveBack(l.Scheduler, h, true) {
		return
	}
	l.countPast(c)
	l.record(c, ledgerpb.Level_RUNNING, c.Resource, ledger.Cause{})
	l.goesOn(c.ID, c.LevelVersion, l.loop.Now())
	l.notify(c)
}
