// Package opportunity suspends long containers for short tasks that wait on their node: Dice's opportunistic preemption, whose rules are those of
// rm/scheduler/policy/partition.
//
// At the end of a window Dice asks some nodes (rm/leader/division). If one of these says with a heartbeat that short tasks wait there, a long
// container of it is suspended, and what it has left is lent to short tasks (rm/leader/lending) as soon as the node says that it is there. After 100 s the node
// is lent as much as before, and when it uses no more than that, the container resumes, in the room that was kept for it. So nothing is given away twice.
//
// The ledger holds the limits of suspensions: how often a container was suspended for short tasks, and since when. A new leader resumes the
// containers that an earlier one has suspended as soon as their room is free.
package opportunity

import (
	"cmp"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/rm/leader/division"
	"heddle/rm/leader/level"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler/policy/partition"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Levels suspends and resumes containers (level.Room).
type Levels interface {
	Take(c *ledger.Container, by string) error
	Give(c *ledger.Container) error
}

// Loans lend what a suspended container has left (lending.Loans).
type Loans interface {
	Lends(id records.NodeID) bool
	SetRoom(id records.NodeID, room records.Resource, ready bool)
	Settled(id records.NodeID) bool
	SetLong(id records.NodeID, long bool)
}

// Config is what a Preemption works with. All must be set.
type Config struct {
	Settings *division.Settings
	Levels   Levels
	Loans    Loans
	// Asked reports whether a node was asked in this window.
	Asked func(records.NodeID) bool
	// Long reports whether an application's tasks are long, and may be suspended.
	Long func(records.ApplicationID) (long, may bool)
	Now  func() time.Time
	Log  *logrus.Entry
}

// Preemption suspends long containers in a leadership. Its methods are for the loop's operations.
type Preemption struct {
	Config
	work    *ledger.State
	nodes   map[records.NodeID]*node
	earlier map[records.NodeID]bool // where an earlier leader has suspended a container for short tasks
}

// node is what is known of a node in this leadership.
type node struct {
	waiting   int                 // short probes, as it said last
	suspended bool                // a container is suspended for short tasks
	taken     records.ContainerID // which, by this leader
	ready     bool                // its room is there
	rests     bool                // one has resumed since Dice has asked
}

// New makes the Preemption of a working copy.
func New(work *ledger.State, cfg Config) *Preemption {
	p := &Preemption{Config: cfg, work: work, nodes: map[records.NodeID]*node{}, earlier: map[records.NodeID]bool{}}
	for _, on := range work.Nodes {
		if p.suspended(on) != nil {
			p.earlier[on.ID] = true
		}
	}
	return p
}

// Heard takes what a node says: how many short probes wait there, and the levels of containers of which that is new. Every heartbeat with news calls it: where
// nothing is long, and nothing is suspended for short tasks, it does nothing.
func (p *Preemption) Heard(id records.NodeID, waiting int, reports []level.Report) {
	n := p.known(id)
	if n == nil && !p.Settings.On() {
		return
	}
	if n == nil && waiting > 0 {
		n = &node{}
		p.nodes[id] = n
	}
	if n != nil {
		n.heard(waiting, reports)
	}
	p.look(id)
}

func (n *node) heard(waiting int, reports []level.Report) {
	n.waiting = waiting
	for i := range reports {
		if r := &reports[i]; r.Container == n.taken {
			n.ready = r.Level == r.Wanted && r.Level != pb.ContainerLevel_LEVEL_RUNNING && r.Reason == ""
		}
	}
}

// NodeRegistered records that a node has registered: it was lent again, and tells what is there.
func (p *Preemption) NodeRegistered(id records.NodeID) {
	if n := p.known(id); n != nil {
		n.waiting, n.ready = 0, false
	}
	p.look(id)
}

// known returns what is known of a node, or nil.
func (p *Preemption) known(id records.NodeID) *node {
	if p.earlier[id] {
		delete(p.earlier, id)
		p.nodes[id] = &node{suspended: true}
	}
	return p.nodes[id]
}

// Tick looks at the nodes for which Dice has changed something, and at those where something may be due.
func (p *Preemption) Tick(changed []records.NodeID) {
	ids := slices.Clone(changed)
	for _, id := range changed {
		if n := p.nodes[id]; n != nil {
			n.rests = false
		}
	}
	for id, n := range p.nodes {
		if n.suspended || n.waiting > 0 && p.Asked(id) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, records.NodeID.Compare)
	for _, id := range slices.Compact(ids) {
		p.look(id)
	}
}

// look does what is due on a node, and says whether short tasks avoid it.
func (p *Preemption) look(id records.NodeID) {
	on := p.work.Nodes[id]
	if on == nil {
		delete(p.nodes, id)
		return
	}
	n := p.nodes[id]
	var c *ledger.Container
	if n != nil && n.suspended {
		c = p.suspended(on)
	}
	if n != nil && c == nil {
		p.Loans.SetRoom(id, records.Resource{}, false)
		if was := p.work.Container(n.taken); was != nil && was.Live() {
			n.rests = true // another caller resumed it, or the node refused: it isn't taken again at once
		}
		n.taken, n.ready = records.ContainerID{}, false
		c = p.take(on, n)
	}
	if n != nil && c != nil {
		p.attend(n, c)
		if c.Level == ledgerpb.Level_RUNNING {
			c = nil
		}
	}
	if n != nil {
		if n.suspended = c != nil; !n.suspended && !n.rests && n.waiting == 0 {
			delete(p.nodes, id)
		}
	}
	p.mark(on, c)
}

// suspended returns the container of a node that is suspended for short tasks.
func (p *Preemption) suspended(on *ledger.Node) *ledger.Container {
	for c := range p.work.On(on) {
		if c.Live() && c.Level != ledgerpb.Level_RUNNING && c.Suspension().User == ledger.ForShortTasks {
			return c
		}
	}
	return nil
}

// take suspends a container of a node, if that may be, and returns it.
func (p *Preemption) take(on *ledger.Node, n *node) *ledger.Container {
	dice := p.Settings.Dice
	if dice == nil || !p.Asked(on.ID) || n.rests || on.State != pb.NodeState_NS_RUNNING || !p.Loans.Lends(on.ID) || !slices.Contains(on.Features, level.FeatureLevels) {
		return nil
	}
	c, another := p.candidate(on)
	request := partition.Candidate{Long: c != nil, Another: another, Waiting: n.waiting}
	if c != nil {
		request.Times = times(c)
	}
	if dice.Request(request) != partition.Granted {
		return nil
	}
	log := p.Log.WithField("container", c.ID).WithField("node", on.ID)
	if err := p.Levels.Take(c, ledger.ForShortTasks); err != nil {
		log.WithError(err).Info("can't be suspended for short tasks")
		return nil
	}
	log.Infof("suspended for %d short tasks that wait there", n.waiting)
	n.taken = c.ID
	return c
}

// candidate returns the long container of a node that was suspended least often for short tasks; of several, the one that takes most. It reports whether another
// one is suspended there.
func (p *Preemption) candidate(on *ledger.Node) (best *ledger.Container, another bool) {
	for c := range p.work.On(on) {
		if c.Live() && c.Starved() {
			return nil, true
		}
	}
	for c := range p.work.On(on) {
		if c.AM || c.State != ledger.ContainerRunning || c.Level != ledgerpb.Level_RUNNING {
			continue
		}
		if _, may := p.Long(c.ID.Attempt.App); !may {
			continue
		}
		if best == nil || cmp.Or(
			cmp.Compare(times(c), times(best)), cmp.Compare(best.Resource.MemoryMB(), c.Resource.MemoryMB()), c.ID.Compare(best.ID),
		) < 0 {
			best = c
		}
	}
	return best, false
}

// times returns how often a container was suspended for short tasks.
func times(c *ledger.Container) (n int) {
	s := c.Suspension()
	for _, span := range s.Spans {
		if span.Cause.User == ledger.ForShortTasks {
			n++
		}
	}
	return n
}

// attend lends the room that a suspended container has left, or takes it back and resumes the container.
func (p *Preemption) attend(n *node, c *ledger.Container) {
	id, dice := c.Node, p.Settings.Dice
	lasted := p.Now().UnixMilli() - c.Suspension().Since
	if n.taken == c.ID && dice != nil && !dice.Due(time.Duration(lasted)*time.Millisecond) {
		p.Loans.SetRoom(id, c.Resource.Sub(c.Held()), n.ready)
		return
	}
	p.Loans.SetRoom(id, records.Resource{}, false)
	if !p.Loans.Settled(id) {
		return // short tasks run in its room
	}
	log := p.Log.WithField("container", c.ID).WithField("node", id)
	if err := p.Levels.Give(c); err != nil {
		log.WithError(err).Debug("can't resume yet")
		return
	}
	n.rests, n.taken = true, records.ContainerID{}
	log.Infof("resumed after %d s, as short tasks have had their time", lasted/1000)
}

// mark says whether a node has long containers, which short tasks avoid. ApplicationMasters don't count: they wait, mostly. Short tasks don't avoid a node that was
// asked to suspend a long one for them, or has: else none would wait there.
func (p *Preemption) mark(on *ledger.Node, suspended *ledger.Container) {
	if !p.Settings.On() || !p.Settings.Rules.AvoidLong {
		return
	}
	long := false
	if suspended == nil && !p.Asked(on.ID) {
		for c := range p.work.On(on) {
			if !long && c.Live() && !c.AM {
				long, _ = p.Long(c.ID.Attempt.App)
			}
		}
	}
	p.Loans.SetLong(on.ID, long)
}
