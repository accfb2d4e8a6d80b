package level

import (
	"context"
	"math"
	"slices"

	"github.com/sirupsen/logrus"

	"heddle/rm/leader/loop"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/records"
)

// Features by which nodes announce what they can do with containers that aren't to run, or to hold all of their claim.
const (
	FeatureSuspend = "suspend" // freeze and thaw
	FeatureLevels  = "levels"  // bring containers to any level (Order)
	FeatureReclaim = "reclaim" // page out what a suspended container doesn't hold
)

// firstVersion is the version of the ledger from which on levels are recorded. Before, containers are suspended or run.
const firstVersion = 3

// Scheduler is what this package tells the driver, and asks it (eventlog.Recorder).
type Scheduler interface {
	ContainerID(h scheduler.ContainerHandle) records.ContainerID
	// Apply carries out an event (eventlog.Recorder.Apply).
	Apply(*eventlog.Event) bool
	Held(h scheduler.ContainerHandle) records.Resource
	Suspended(h scheduler.ContainerHandle) (since int64, by string, ok bool)
}

// Nodes carries orders to nodes. Its methods block until the node has answered.
type Nodes interface {
	// Suspend and Resume freeze and thaw a container.
	Suspend(ctx context.Context, node records.NodeID, attempt records.AttemptID, id records.ContainerID) error
	Resume(ctx context.Context, node records.NodeID, attempt records.AttemptID, id records.ContainerID) error
	// Order brings a container to a level, on a node that knows levels.
	Order(ctx context.Context, node records.NodeID, o Order) error
	// Ahead tells such a node whether room waits for the return of a container that is suspended.
	Ahead(ctx context.Context, node records.NodeID, id records.ContainerID, waits bool) error
}

// Config is what Levels works with.
type Config struct {
	Scheduler Scheduler
	Nodes     func() Nodes
	Types     records.ResourceTypes
	// Step returns the amount that a container is shrunk by if none is given.
	Step func() records.Resource
	// Footprint says whether preemption leaves suspended containers a little of the CPU. Nil: it doesn't.
	Footprint func() bool
	// HandleOf returns the scheduler's handle of a container; ok is false if it has none.
	HandleOf func(*ledger.Container) (h scheduler.ContainerHandle, ok bool)
	// Tell is called after the commit, when a container is on record as suspended or starved, and when its node has resumed it. It may be
	// called again for what it was told already.
	Tell func(c *ledger.Container, suspended bool)
	Log  *logrus.Entry
}

// Memory is how well a node can page out the memory of suspended containers. Rates are in bytes a second; 0 is not measured.
type Memory struct {
	Full    bool // it takes no more memory from containers at present
	Out, In int64
	// Pressure is the percentage of time in which processes wait for memory.
	Pressure float64
}

// manyPercent is by how much pressures must differ to matter.
const manyPercent = 20

// Differs reports whether two reports differ so much that decisions do: rates by more than a quarter, pressures by much.
func (m Memory) Differs(from Memory) bool {
	far := func(a, b int64) bool { return 4*max(a, b) > 5*min(a, b) }
	return m.Full != from.Full || far(m.Out, from.Out) || far(m.In, from.In) || math.Abs(m.Pressure-from.Pressure) >= manyPercent
}

// Levels brings the containers of a leadership to their levels. Suspend and Resume are safe for concurrent use; the other methods are for the
// loop's operations.
type Levels struct {
	Config
	loop  loop.Operations
	work  *ledger.State
	nodes map[records.NodeID]*node
	openOrders
	books
	number int64          // of the last order
	told   eventlog.Event // what a container uses, for the driver: kept for its memory
	// unreclaimable maps containers whose memory couldn't be paged out to the amount they should hold.
	unreclaimable map[records.ContainerID]records.Resource

	// latest are the versions of the last orders of this leadership.
	latest map[records.ContainerID]int32
}

// node is what the driver knows of a node.
type node struct {
	handle scheduler.NodeHandle
	memory Memory
	able   drive.Ability
}

// memoryOf returns the node's last memory report, zero if there was none.
func (n *node) memoryOf() Memory {
	if n == nil {
		return Memory{}
	}
	return n.memory
}

// New makes the Levels of a working copy.
func New(loop loop.Operations, work *ledger.State, cfg Config) *Levels {
	return &Levels{
		Config: cfg, loop: loop, work: work, nodes: map[records.NodeID]*node{}, openOrders: openOrders{byContainer: map[records.ContainerID]*order{}, underWay: map[records.ContainerID]UnderWay{}},
		unreclaimable: map[records.ContainerID]records.Resource{}, latest: map[records.ContainerID]int32{},
	}
}

// Show tells the driver what a node can do, by its features on record and what it says of its memory.
func (l *Levels) Show(id records.NodeID, h scheduler.NodeHandle, m Memory) {
	n := l.nodes[id]
	if n == nil || n.handle != h {
		n = &node{handle: h}
		l.nodes[id] = n
	}
	n.memory = m
	if able := l.ability(id, m); able != n.able {
		n.able = able
		now := able // a record keeps it
		l.Scheduler.Apply(&eventlog.Event{Op: eventlog.SetAbility, Node: h, Ability: &now})
	}
}

// NodeBegins is Show for a node that an earlier leader knew, or that has just registered. Its containers may not have the levels that are on record: its
// first heartbeat tells.
func (l *Levels) NodeBegins(id records.NodeID, h scheduler.NodeHandle) {
	l.Show(id, h, Memory{})
	n := l.work.Nodes[id]
	if n == nil || !l.suspends(id) {
		return
	}
	for c := range l.work.On(n) {
		if c.LevelVersion > 0 && l.byContainer[c.ID] == nil {
			l.inherit(c, l.loop.Now())
		}
	}
}

// ShowAll is Show for all nodes, as they say now, after the ledger's version was raised.
func (l *Levels) ShowAll() {
	for id, n := range l.nodes {
		l.Show(id, n.handle, n.memory)
	}
}

// NodeLeft forgets a node that is gone.
func (l *Levels) NodeLeft(id records.NodeID) { delete(l.nodes, id) }

// ability returns what a node can do for the driver. As long as members can't record levels, no node can do anything.
func (l *Levels) ability(id records.NodeID, m Memory) drive.Ability {
	n := l.work.Nodes[id]
	if n == nil || l.work.Version < firstVersion {
		return drive.Ability{}
	}
	has := func(feature string) bool { return slices.Contains(n.Features, feature) }
	return drive.Ability{
		Suspend: has(FeatureSuspend), Shrink: has(FeatureLevels), Reclaim: has(FeatureLevels) && has(FeatureReclaim) && !m.Full,
		Out: m.Out, In: m.In, Pressure: m.Pressure,
	}
}

// suspends reports whether a node can suspend containers.
func (l *Levels) suspends(id records.NodeID) bool {
	n := l.work.Nodes[id]
	return n != nil && slices.Contains(n.Features, FeatureSuspend)
}

// Decided carries out the driver's decision that a container holds another amount.
func (l *Levels) Decided(d *drive.Decision) {
	id := l.Scheduler.ContainerID(d.Container)
	c := l.work.Container(id)
	if c == nil || !c.Live() {
		return
	}
	delete(l.unreclaimable, id)
	if d.Kind == drive.Charge {
		waits := d.Resource.MemoryMB() > c.Held().MemoryMB()
		l.record(c, c.Level, d.Resource, causeOf(c, d))
		l.tellAhead(c, waits)
		return
	}
	log := l.Log.WithField("container", id).WithField("node", c.Node).WithField("holds", d.Resource)
	level := ledgerpb.Level_RUNNING
	switch d.Kind {
	case drive.Suspend:
		level = l.preemptionLevel(c.Node)
		log.Info("suspended: " + d.Reason + quoted(d))
	case drive.Shrink:
		if level = ledgerpb.Level_SHRUNK; c.Suspended() {
			level = c.Level
		}
		log.Info("shrunk: " + d.Reason + quoted(d))
	case drive.Resume:
		log.Info("resumed: " + d.Reason)
	}
	l.want(c, level, d.Resource, causeOf(c, d))
	if d.Kind == drive.Resume {
		l.goesOn(id, c.LevelVersion, l.loop.Now())
	} else {
		l.open(d, id, c.Node, c.LevelVersion, l.loop.Now())
	}
	l.loop.AfterCommit(func() { l.send(id) })
}

// preemptionLevel returns the lowest level that preemption uses on a node.
func (l *Levels) preemptionLevel(id records.NodeID) ledgerpb.Level {
	n := l.nodes[id]
	switch {
	case n != nil && n.able.Shrink && l.Footprint != nil && l.Footprint():
		return ledgerpb.Level_SHRUNK // to no vcores at all, of which nodes leave the least that there is
	case n != nil && n.able.Reclaim:
		return ledgerpb.Level_RECLAIMED
	}
	return ledgerpb.Level_FROZEN
}

// causeOf returns the beneficiary of a decision. The driver doesn't know the application of a suspension that an earlier leader has decided on.
func causeOf(c *ledger.Container, d *drive.Decision) ledger.Cause {
	if was := c.Suspension().Cause; was.Queue == d.For && d.ForApp == (records.ApplicationID{}) {
		return was
	}
	return ledger.Cause{Queue: d.For, App: d.ForApp}
}

// quoted returns what a decision is thought to cost, as the end of a line of the log.
func quoted(d *drive.Decision) string {
	if d.Quote == nil {
		return ""
	}
	return "; " + d.Quote.String()
}

// SetMemory says how much memory a container uses, as that is what it costs to suspend it.
func (l *Levels) SetMemory(id records.ContainerID, bytes int64) {
	c := l.work.Container(id)
	if c == nil || !c.Live() {
		return
	}
	if h, ok := l.HandleOf(c); ok {
		l.told = eventlog.Event{Op: eventlog.SetMemory, Container: h, Total: bytes}
		l.Scheduler.Apply(&l.told)
	}
}
