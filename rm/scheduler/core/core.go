package core

import (
	"heddle/internal/invariants"
	"heddle/rm/queue"
	"heddle/rm/scheduler/class"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/intern"
	"heddle/rm/scheduler/measure"
	"heddle/rm/scheduler/nodeindex"
	"heddle/rm/scheduler/order"
	"heddle/yarn/records"
)

// Core holds queues, nodes, applications and containers, and decides what is the same for all policies. Make it with NewCore.
type Core struct {
	Config Config
	Tree   *queue.Tree
	Calc   measure.Calculator
	Policy Policy
	Rules  Rules
	Now    int64

	Queues     []Queue
	freeQueues []int32
	ByPath     map[string]int32
	Users      []User
	freeUsers  []int32
	Orders     order.Arena
	Classes    class.Table

	Nodes      []Node
	freeNodes  []handle.Node
	kinds      intern.Amounts // what nodes have
	Index      nodeindex.Index
	cursor     int                                   // where the next search for any node begins, so that load spreads
	held       map[handle.Container]records.Resource // what those take on their nodes that don't take their claim
	openNodes  int                                   // that take containers
	partlyOpen int                                   // of those, for some kinds of work only
	headroom   records.Resource                      // free on all open nodes
	largest    records.Resource                      // of any open node, by type
	smallest   records.Resource
	resized    bool             // largest and smallest are out of date
	cluster    records.Resource // of all open nodes, and what is still used on closed ones
	stale      bool             // limits must be computed anew

	Apps       []App
	freeApps   []handle.App
	heldApps   []handle.App     // applications that wait for one of the limits on how many run at once, by submission
	Running    map[string]int32 // applications of a user that count for how many may run at once
	toActivate []int32          // leaves in which an application may become active

	Containers       []Container
	freeContainers   []handle.Container
	sizes            intern.Amounts
	reservationAt    []Reservation
	freeReservations []int32

	Changes  int64       // of what applications ask for and hold, of limits and of nodes
	places   int64       // changes of which nodes there are
	Demanded order.Arena // of demands
	DemandOf []*Demand
	Passed   int64 // demands and applications that were gone through one by one, which tests hold down

	Names          intern.Names       // of hosts and racks
	Sites          []Site             // hosts and racks by their name's number
	awaited        []bool             // names that demands prefer, or did: those with waiters
	Reserved       []handle.Container // in the order in which nodes were kept
	scheduling     bool               // undone reservations are among the decisions
	reservations                      // which reservations may be filled or undone
	Roomier        bool               // nodes may have room for reservations
	undone         []Decision         // on reservations, since the last call of Schedule
	promises       []Promised         // see Promise
	delayedDemands []*Demand          // that wait for better places for some time
	wakeup         int64              // see NextWake
	parked         []*Demand          // that wait for room on nodes that their application wants, or below their queues' limits
	Picked         order.Mask         // the classes that the application that was picked last could have
	Out            []Decision
}

// NewCore returns a core without nodes. policy makes the policy for queues of a kind.
func NewCore(cfg Config, policy func(*Core, queue.Kind) Policy) *Core {
	c := &Core{
		held:   map[handle.Container]records.Resource{},
		Config: cfg, Calc: measure.New(cfg.Types.Len(), cfg.Minimum), Index: nodeindex.New(cfg.Types.Len()), Classes: class.New(),
		Names: intern.NewNames(), ByPath: map[string]int32{}, Running: map[string]int32{}, sizes: intern.NewAmounts(),
		kinds: intern.NewAmounts(),
	}
	tree := cfg.Tree
	if tree == nil {
		tree = queue.Default(queue.FIFO)
	}
	c.setTree(tree, policy(c, tree.Kind))
	if cfg.Tree == nil {
		c.Calc.SetMemoryOnly(false)
	}
	return c
}

// Root is the handle of the root queue.
const Root = int32(0)

// Schedule places what can be placed since the events that were entered after the last call, and returns the decisions.
// now is in ms and never goes back. The slice is good until the next call.
//
// Each container goes to the application whose turn it is by the policies of the queues from the root down, for its most
// urgent request that fits anywhere: where it is preferred first, then in the preferred racks, then anywhere.
func (s *Core) Schedule(now int64) []Decision {
	s.Now = max(s.Now, now)
	s.Out = append(s.Out[:0], s.undone...)
	s.undone = s.undone[:0]
	if s.Names.Crowded() {
		s.forgetNames()
	}
	s.scheduling = true
	s.Refresh()
	if s.wakeup != 0 && s.Now >= s.wakeup {
		s.wakeUp()
	}
	s.activateApps()
	s.fulfilPromises()
	s.Policy.Begin()
	for more := true; more; more = s.Roomier {
		s.fill()
		for h := s.Policy.Next(); h != order.Nothing; h = s.Policy.Next() {
			s.place(handle.App(h))
		}
	}
	s.Policy.End()
	s.scheduling = false
	if invariants.Checked {
		s.mustHold()
	}
	return s.Out
}

// NextWake is when Schedule must be called again even if nothing happens, in ms; 0 if it needn't.
func (s *Core) NextWake() int64 { return s.wakeup }

func (s *Core) WakeAt(t int64) {
	if s.wakeup == 0 || t < s.wakeup {
		s.wakeup = t
	}
}

// Largest is, for each type, the most that any node that takes containers has.
func (s *Core) Largest() records.Resource {
	s.measureNodes()
	return s.largest
}

// Smallest is, for each type, the least that any node that takes containers has.
func (s *Core) Smallest() records.Resource {
	s.measureNodes()
	return s.smallest
}

func (s *Core) measureNodes() {
	if !s.resized {
		return
	}
	s.resized, s.largest, s.smallest = false, records.Resource{}, records.Resource{}
	first := true
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Open == NoWork {
			continue
		}
		has := *s.Capability(n)
		s.largest = s.largest.Max(has)
		if s.smallest = s.smallest.Min(has); first {
			s.smallest, first = has, false
		}
	}
}

// OpenNodes counts the nodes that take containers.
func (s *Core) OpenNodes() int { return s.openNodes }

// Headroom is what new asks could get at most: the free resources of all open nodes.
func (s *Core) Headroom() records.Resource { return s.headroom }

func (s *Core) Format(r records.Resource) string { return s.Config.Types.Format(r) }
