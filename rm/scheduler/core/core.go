package core

import (
	"cmp"

	"heddle/internal/invariants"
	"heddle/rm/queue"
	"heddle/rm/scheduler/class"
	"heddle/rm/scheduler/constraint"
	"heddle/rm/scheduler/demand"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/intern"
	"heddle/rm/scheduler/measure"
	"heddle/rm/scheduler/nodeset"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/rm/scheduler/ranking"
	"heddle/rm/scheduler/staged"
	"heddle/rm/scheduler/survey"
	"heddle/yarn/records"
)

// Core holds queues, nodes, applications and containers, and decides what is the same for all policies. Make it with NewCore.
//
// It has many methods because each decision changes applications, users, queues, orders and nodes together, and the sums over them
// must agree at the end of each call. Independent parts are in packages of their own (nodeset, demand, order, class).
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
	Rankings   ranking.Arena
	Classes    class.Table

	cursor int                                   // where the next search for any node begins, so that load spreads
	held   map[handle.Container]records.Resource // use on their nodes by containers that take less than their claim
	// withheld is what such containers of an application lack of their claims, together.
	withheld map[handle.App]records.Resource
	stale    bool // limits must be computed again

	Nodes      nodeset.Set
	Apps       []App
	handles    *handle.Spaces   // shared by the cores of all partitions
	others                      // relations with the cores of other partitions
	heldApps   []handle.App     // applications that wait for one of the limits on how many run at once, by submission
	Running    map[string]int32 // applications of a user that count for how many may run at once
	toActivate []int32          // leaves in which an application may become active

	Containers       []Container
	sizes            intern.Amounts
	reservationAt    []Reservation
	freeReservations []int32

	Changes  int64 // of what applications ask for and hold, of limits and of nodes
	Demanded demand.Table
	Passed   int64 // applications that were gone through one by one, which tests hold down

	guided    []int32                   // leaves with leaf policies that aren't built in, sorted
	told      []int32                   // those of them that have heard something since they were told the time
	leavesDue int64                     // when the next one is to be told the time in any case, in ms
	overdue   []handle.App              // scratch of askOverdue
	failing   bool                      // the container that is being freed hasn't done its work
	bandwidth float64                   // see NoteBandwidth
	facts     map[handle.App]leaf.Facts // of applications of which there are any
	Survey    survey.Keeper             // of nodes, for leaf policies to which these matter

	awaited      demand.Awaited     // hosts and racks
	Staged       staged.Table       // input in memory
	Reserved     []handle.Container // in the order in which nodes were reserved
	scheduling   bool               // undone reservations are among the decisions
	reservations                    // which reservations may be filled or undone
	Roomier      bool               // nodes may have room for reservations
	undone       []Decision         // on reservations, since the last call of Schedule
	preempted    []preempted        // see PreemptFor
	timed        demand.Timed
	wakeup       int64 // see NextWake
	parked       demand.Parked
	Placing      *constraint.Table // shared by the cores of all partitions
	Unmet        demand.Unmets
	Picked       ranking.Mask // the classes that the application that was picked last could have
	Out          []Decision
}

// NewCore returns a core without nodes. policy makes the policy for queues of a kind.
func NewCore(cfg Config, policy func(*Core, queue.Kind) Policy) *Core {
	c := &Core{
		held: map[handle.Container]records.Resource{}, withheld: map[handle.App]records.Resource{}, facts: map[handle.App]leaf.Facts{},
		Config: cfg, Calc: measure.New(cfg.Types.Len(), cfg.Minimum), Classes: class.New(), ByPath: map[string]int32{},
		Running: map[string]int32{}, sizes: intern.NewAmounts(),
	}
	c.handles, c.Placing = cmp.Or(cfg.Handles, &handle.Spaces{}), cmp.Or(cfg.Placing, &constraint.Table{})
	c.Nodes = nodeset.New(&c.Calc, &c.handles.Nodes)
	tree := cmp.Or(cfg.Tree, queue.Default(queue.FIFO))
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
	if s.Nodes.Names.Crowded() {
		s.forgetNames()
	}
	s.scheduling = true
	s.Refresh()
	if s.wakeup != 0 && s.Now >= s.wakeup {
		s.wakeUp()
	}
	if len(s.guided) > 0 {
		s.tickLeaves()
	}
	s.activateApps()
	s.assignPreempted()
	s.Policy.Begin()
	for more := true; more; more = s.Roomier || s.reviseLeaves() || s.Unmet.Retry(s.Now, s.Placing, len(s.Nodes.At), s.Unpark) {
		s.fill()
		for h := s.Policy.Next(); h != ranking.Nothing; h = s.Policy.Next() {
			s.place(handle.App(h))
		}
	}
	s.Policy.End()
	s.Unmet.End(s.Placing.Changes, s.Now, s.WakeAt)
	s.scheduling = false
	if invariants.Checked {
		s.mustHold()
	}
	return s.Out
}

// NextWake returns when Schedule must be called again even if nothing happens, in ms; 0 if it needn't.
func (s *Core) NextWake() int64 { return s.wakeup }

func (s *Core) WakeAt(t int64) {
	if s.wakeup == 0 || t < s.wakeup {
		s.wakeup = t
	}
}

func (s *Core) Format(r records.Resource) string { return s.Config.Types.Format(r) }
