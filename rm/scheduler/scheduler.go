package scheduler

import (
	"fmt"

	"heddle/rm/queue"
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeset"
	"heddle/yarn/records"
)

// NodeHandle, AppHandle and ContainerHandle name what the scheduler holds. They are reused after their object is gone.
type (
	NodeHandle      = handle.Node
	AppHandle       = handle.App
	ContainerHandle = handle.Container
)

// Inputs and outputs.
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

// WorkOf returns the set of some kinds of work.
func WorkOf(kinds ...Work) Works { return nodeset.WorkOf(kinds...) }

// OpenIf returns all kinds of work if a node is open, and none if it isn't.
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
	*Partitions
	*Holdings
	*Outcomes
	*Placing
	core *core.Core // of the nodes without a label, which every application is known to
}

// New returns a scheduler without nodes.
func New(cfg Config) *Scheduler {
	p := newPartitions(cfg)
	return &Scheduler{Partitions: p, core: p.parts[0].core, Holdings: &Holdings{p}, Outcomes: &Outcomes{p}, Placing: &Placing{p}}
}

// AddNode enters a node that takes containers.
func (s *Scheduler) AddNode(spec NodeSpec) NodeHandle {
	i := s.index(spec.Label)
	s.parts[i].due = true
	h := s.parts[i].core.AddNode(spec)
	s.note(&s.nodes, int32(h), i)
	s.cfg.Placing.AddNode(h, spec.Host, spec.Rack)
	return h
}

// RemoveNode takes a node out. Its containers must have been freed.
func (s *Scheduler) RemoveNode(h NodeHandle) { s.at(h).RemoveNode(h) }

// SetCapability changes what a node has. It may be less than what its containers hold: then the node takes no more until
// enough of them have ended.
func (s *Scheduler) SetCapability(h NodeHandle, capability records.Resource) {
	s.at(h).SetCapability(h, capability)
}

// SetOpen says for which kinds of work a node takes new containers; those that it has stay.
func (s *Scheduler) SetOpen(h NodeHandle, to Works) { s.at(h).SetOpen(h, to) }

// AddApp enters an application, which asks for nothing yet. It waits until the limits on ApplicationMasters and on how many
// applications run at once admit it.
func (s *Scheduler) AddApp(spec AppSpec) AppHandle {
	master := s.index(spec.Label)
	spec.Elsewhere, s.parts[0].due = master != 0, true
	h := s.core.AddApp(spec)
	if s.masters[h] = master; master == 0 {
		delete(s.masters, h)
	}
	return h
}

// RemoveApp takes an application out. Its containers must have been freed.
func (s *Scheduler) RemoveApp(h AppHandle) {
	for c := range s.coresOf(h) {
		if c != s.core {
			c.RemoveApp(h)
		}
	}
	s.core.RemoveApp(h)
	s.cfg.Placing.Forget(h)
	delete(s.masters, h)
	delete(s.running, h)
}

// MoveApp puts an application with all that it holds into another leaf. It stays active if it was. In Fair queues nodes remain reserved
// for it, as in YARN.
func (s *Scheduler) MoveApp(h AppHandle, path string) {
	for c := range s.coresOf(h) {
		c.MoveApp(h, path)
	}
	if m := s.masters[h]; m != 0 && s.parts[m].core.Has(h) {
		s.parts[m].core.Await(h, s.core.Apps[h].Runnable)
	}
}

// SetPriority moves an application in the order of service.
func (s *Scheduler) SetPriority(h AppHandle, priority int32) {
	for c := range s.coresOf(h) {
		c.SetPriority(h, priority)
	}
}

// UpdateAsks enters rows of requests. Capabilities must not be negative.
func (s *Scheduler) UpdateAsks(h AppHandle, asks []Ask) {
	if s.labelled(asks) {
		s.divideAsks(h, asks)
	} else {
		s.core.UpdateAsks(h, asks)
	}
}

// ClearAsks withdraws everything that an application asks for.
func (s *Scheduler) ClearAsks(h AppHandle) {
	for c := range s.coresOf(h) {
		c.ClearAsks(h)
	}
}

// UpdateBlacklist adds and then removes hosts (or racks) on which an application wants no containers.
func (s *Scheduler) UpdateBlacklist(h AppHandle, add, remove []string) {
	for c := range s.coresOf(h) {
		c.UpdateBlacklist(h, add, remove)
	}
}

// Restore enters a container that was granted earlier, by another leader. Its application counts as active from then on.
func (s *Scheduler) Restore(a AppHandle, n NodeHandle, r records.Resource) ContainerHandle {
	return s.restore(a, n, func(c *core.Core) ContainerHandle { return c.Restore(a, n, r) })
}

// Free gives back what a container holds.
func (s *Scheduler) Free(h ContainerHandle) {
	if len(s.parts) == 1 {
		s.core.Free(h)
		return
	}
	s.freed(h, (*core.Core).Free)
}

// Fetch has memory come of containers that will be freed soon, whose nodes lie far apart. It changes nothing.
func Fetch(s *Scheduler, containers []ContainerHandle) {
	if len(s.parts) > 1 {
		return
	}
	for _, h := range containers { // reads of containers don't wait for each other
		n := s.core.Containers[h].Node
		s.core.Nodes.Fetch(n)
		s.core.Survey.Fetch(n)
	}
}

// ResizeContainer changes what a container holds, and reports whether it could: more is refused where its node hasn't room
// for it or a queue would get above its maximum.
func (s *Scheduler) ResizeContainer(h ContainerHandle, to records.Resource) bool {
	return s.of(h).ResizeContainer(h, to)
}

// Starving reports whether a leaf waits for something that is below its guarantee, and for which there was no room when Schedule was
// called last, as what is reserved isn't there yet. Of Fair queues it reports whether any leaf waits.
func (s *Scheduler) Starving() bool {
	for i := range s.parts {
		if s.parts[i].starving() {
			return true
		}
	}
	return false
}

func (s *part) starving() bool {
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
func (s *Scheduler) Changes() (n int64) {
	for i := range s.parts {
		n += s.parts[i].core.Changes
	}
	return n
}

// PreemptFor has the room of a container, once it is freed, go to an application before others. That ends with the next call of
// Schedule, and where the application or the node is removed.
func (s *Scheduler) PreemptFor(h ContainerHandle, to AppHandle) {
	core := s.of(h)
	if c := &core.Containers[h]; c.Live() && !c.Reserved() && core.Has(to) {
		core.OfferRoom(to, false, c.Node, core.Held(h))
	}
}

// Unreserve undoes a reservation, so that others may have its node, and its application continues asking. It reports whether
// there is such a reservation.
func (s *Scheduler) Unreserve(c ContainerHandle) bool { return s.of(c).Unreserve(c) }

// MoveReservation reserves another node for what a node is reserved for. It reports whether it could: there must be such a
// reservation, and the other node must be of the same partition, unreserved, large enough and one that the application wants.
func (s *Scheduler) MoveReservation(c ContainerHandle, to NodeHandle) bool {
	return s.of(c).MoveReservation(c, to)
}

// SetTree replaces the configuration. Queues are identified by their paths; their contents stay. A tree of another
// scheduler, or one that lacks a leaf with applications in it, is refused, and changes nothing.
func (s *Scheduler) SetTree(t *queue.Tree) error {
	former := s.formerly(t)
	if err := s.core.SetTree(t); err != nil {
		return err
	}
	s.parts[0].due, s.former = true, former
	for i := range s.parts[1:] {
		x := &s.parts[i+1]
		x.due = true
		if err := x.core.SetTree(t.In(x.label)); err != nil {
			return fmt.Errorf("label %s: %w", x.label, err)
		}
	}
	return nil
}

// Schedule places what can be placed since the events that were entered after the last call, and returns the decisions.
// now is in ms and never goes back. The slice is good until the next call.
//
// Each container goes to the application whose turn it is by the policies of the queues from the root down, for its most
// urgent request that fits anywhere: where it is preferred first, then in the preferred racks, then anywhere.
func (s *Scheduler) Schedule(now int64) []Decision {
	if len(s.parts) == 1 {
		return s.core.Schedule(now)
	}
	return s.scheduleAll(now)
}

// NextWake returns when Schedule must be called again even if nothing happens, in ms; 0 if it needn't.
func (s *Scheduler) NextWake() (next int64) {
	for i := range s.parts {
		if t := s.parts[i].core.NextWake(); t != 0 && (next == 0 || t < next) {
			next = t
		}
	}
	return next
}
