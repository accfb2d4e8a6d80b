package scheduler

import (
	"heddle/rm/queue"
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/explain"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeset"
	"heddle/rm/scheduler/policy"
	"heddle/yarn/records"
)

// NodeHandle, AppHandle and ContainerHandle name what the scheduler holds. They are reused after their object is gone.
type (
	NodeHandle      = handle.Node
	AppHandle       = handle.App
	ContainerHandle = handle.Container
)

// What goes in and comes out.
type (
	Config       = core.Config
	NodeSpec     = nodeset.Spec
	AppSpec      = core.AppSpec
	Ask          = core.Ask
	Decision     = core.Decision
	DecisionKind = core.DecisionKind
	Locality     = core.Locality
	Work         = nodeset.Work
	Works        = nodeset.Works
)

// Sets of kinds of work.
const (
	NoWork  = nodeset.NoWork
	AllWork = nodeset.AllWork
)

// WorkOf is the set of some kinds of work.
func WorkOf(kinds ...Work) Works { return nodeset.WorkOf(kinds...) }

// OpenIf is all kinds of work if a node is open, and none if it isn't.
func OpenIf(open bool) Works { return nodeset.OpenIf(open) }

// Any is the resource name of an ask for any node.
const Any = core.Any

// Localities, best first.
const (
	NodeLocal = core.NodeLocal
	RackLocal = core.RackLocal
	OffSwitch = core.OffSwitch
)

// Kinds of decisions.
const (
	Allocate  = core.Allocate
	Activate  = core.Activate
	Reserve   = core.Reserve
	Unreserve = core.Unreserve
	Kill      = core.Kill
)

// Scheduler is the queues, nodes, applications and containers of a cluster: events in, decisions out. Make it with New.
//
// It has many methods because it is what callers see of the scheduler. Most of them hand on to the Core.
type Scheduler struct {
	*explain.Explainer
	*Holdings
	*Outcomes
	core   *core.Core
	policy policy.Policy
}

// New returns a scheduler without nodes.
func New(cfg Config) *Scheduler {
	s := &Scheduler{}
	s.core = core.NewCore(cfg, func(c *core.Core, kind queue.Kind) core.Policy {
		s.policy = policy.New(kind, c)
		return s.policy
	})
	s.Explainer, s.Holdings = explain.New(s.core, s.policy), &Holdings{s.core}
	s.Outcomes = &Outcomes{s.core}
	return s
}

// AddNode enters a node that takes containers.
func (s *Scheduler) AddNode(spec NodeSpec) NodeHandle { return s.core.AddNode(spec) }

// RemoveNode takes a node out. Its containers must have been freed.
func (s *Scheduler) RemoveNode(h NodeHandle) { s.core.RemoveNode(h) }

// SetCapability changes what a node has. It may be less than what its containers hold: then the node takes no more until
// enough of them have ended.
func (s *Scheduler) SetCapability(h NodeHandle, capability records.Resource) {
	s.core.SetCapability(h, capability)
}

// SetOpen says for which kinds of work a node takes new containers; those that it has stay.
func (s *Scheduler) SetOpen(h NodeHandle, to Works) { s.core.SetOpen(h, to) }

// AddApp enters an application, which asks for nothing yet. It waits until the limits on ApplicationMasters and on how many
// applications run at once admit it.
func (s *Scheduler) AddApp(spec AppSpec) AppHandle { return s.core.AddApp(spec) }

// RemoveApp takes an application out. Its containers must have been freed.
func (s *Scheduler) RemoveApp(h AppHandle) { s.core.RemoveApp(h) }

// MoveApp puts an application with all that it holds into another leaf. It stays active if it was. In Fair queues nodes remain reserved
// for it, as in YARN.
func (s *Scheduler) MoveApp(h AppHandle, path string) { s.core.MoveApp(h, path) }

// SetPriority moves an application in the order of service.
func (s *Scheduler) SetPriority(h AppHandle, priority int32) { s.core.SetPriority(h, priority) }

// UpdateAsks enters rows of requests. Capabilities must not be negative.
func (s *Scheduler) UpdateAsks(h AppHandle, asks []Ask) { s.core.UpdateAsks(h, asks) }

// ClearAsks withdraws everything that an application asks for.
func (s *Scheduler) ClearAsks(h AppHandle) { s.core.ClearAsks(h) }

// UpdateBlacklist adds and then removes hosts (or racks) on which an application wants no containers.
func (s *Scheduler) UpdateBlacklist(h AppHandle, add, remove []string) {
	s.core.UpdateBlacklist(h, add, remove)
}

// Restore enters a container that was granted earlier, by another leader. Its application counts as active from then on.
func (s *Scheduler) Restore(a AppHandle, n NodeHandle, r records.Resource) ContainerHandle {
	return s.core.Restore(a, n, r)
}

// Free gives back what a container holds.
func (s *Scheduler) Free(h ContainerHandle) { s.core.Free(h) }

// ResizeContainer changes what a container holds, and reports whether it could: more is refused where its node hasn't room
// for it or a queue would get above its maximum.
func (s *Scheduler) ResizeContainer(h ContainerHandle, to records.Resource) bool {
	return s.core.ResizeContainer(h, to)
}

// Starving reports whether a leaf waits for something that is below its guarantee, and for which there was no room when Schedule was
// called last, as what is reserved isn't there yet. Of Fair queues it reports whether any leaf waits.
func (s *Scheduler) Starving() bool {
	rules, calc := &s.core.Rules, &s.core.Calc
	for i := range s.core.Queues {
		q, has := &s.core.Queues[i], s.core.Queues[i].Used.Sub(s.core.Queues[i].Reserved)
		if q.Live && q.Leaf && !q.Pending.IsZero() && (rules.DueByRound || calc.Share(&has) < calc.Share(&q.Guaranteed)) {
			return true
		}
	}
	return false
}

// Changes counts changes of what applications ask for and hold, of limits and of nodes.
func (s *Scheduler) Changes() int64 { return s.core.Changes }

// PreemptFor has the room of a container, once it is freed, go to an application before others. That ends with the next call of
// Schedule, and where the application or the node is removed.
func (s *Scheduler) PreemptFor(h ContainerHandle, to AppHandle) {
	if c := &s.core.Containers[h]; c.Live() && !c.Reserved() && s.core.Apps[to].Live {
		s.core.OfferRoom(to, false, c.Node, s.core.Held(h))
	}
}

// Unreserve undoes a reservation, so that others may have its node, and its application goes on asking. It reports whether
// there is such a reservation.
func (s *Scheduler) Unreserve(c ContainerHandle) bool { return s.core.Unreserve(c) }

// MoveReservation reserves another node for what a node is reserved for. It reports whether it could: there must be such a
// reservation, and the other node must be reserved for nobody, large enough and one that the application wants.
func (s *Scheduler) MoveReservation(c ContainerHandle, to NodeHandle) bool {
	return s.core.MoveReservation(c, to)
}

// SetTree replaces the configuration. Queues are told by their paths; what is in them stays. A tree of another scheduler, or
// one that lacks a leaf with applications in it, is refused, and changes nothing.
func (s *Scheduler) SetTree(t *queue.Tree) error { return s.core.SetTree(t) }

// Schedule places what can be placed since the events that were entered after the last call, and returns the decisions.
// now is in ms and never goes back. The slice is good until the next call.
//
// Each container goes to the application whose turn it is by the policies of the queues from the root down, for its most
// urgent request that fits anywhere: where it is preferred first, then in the preferred racks, then anywhere.
func (s *Scheduler) Schedule(now int64) []Decision { return s.core.Schedule(now) }

// NextWake is when Schedule must be called again even if nothing happens, in ms; 0 if it needn't.
func (s *Scheduler) NextWake() int64 { return s.core.NextWake() }
