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

// Scheduler is the queues, nodes, applications and containers of a cluster: events in, decisions out. Make it with New. Its own methods change it,
// those of its View only tell.
type Scheduler struct {
	*partitions
	View
}

// New returns a scheduler without nodes.
func New(cfg Config) *Scheduler {
	p := newPartitions(cfg)
	return &Scheduler{p, View{p}}
}

// At returns the core that has a node, which takes what is of this node alone: its end, its size, and for which work it is open.
func (s *Scheduler) At(h NodeHandle) *core.Core { return s.at(h) }

// Of returns the core that has a container, which takes what is of this container alone: its size, what it holds, and its reservation.
func (s *Scheduler) Of(h ContainerHandle) *core.Core { return s.of(h) }

// AddNode enters a node that takes containers.
func (s *Scheduler) AddNode(spec NodeSpec) NodeHandle {
	i := s.index(spec.Label)
	s.parts[i].due = true
	h := s.parts[i].core.AddNode(spec)
	s.note(&s.nodes, int32(h), i)
	s.cfg.Placing.AddNode(h, spec.Host, spec.Rack)
	return h
}

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

// Restore enters a container that was granted earlier, by another leader, for a request of a priority, and when, in ms. Its application counts as
// active from then on.
func (s *Scheduler) Restore(a AppHandle, n NodeHandle, r records.Resource, priority int32, since int64) ContainerHandle {
	return s.restore(a, n, func(c *core.Core) ContainerHandle { return c.RestoreGrant(a, n, r, priority, since) })
}

// Free gives back what a container holds.
func (s *Scheduler) Free(h ContainerHandle) {
	if len(s.parts) == 1 {
		s.core.Free(h)
		return
	}
	s.freed(h, (*core.Core).Free)
}

// Fail frees a container that ended before its work was done.
func (s *Scheduler) Fail(h ContainerHandle) { s.freed(h, (*core.Core).Fail) }

// Fetch has memory come of containers that will be freed soon, whose nodes lie far apart. It changes nothing.
func (s *Scheduler) Fetch(containers []ContainerHandle) {
	if len(s.parts) > 1 {
		return
	}
	for _, h := range containers { // reads of containers don't wait for each other
		n := s.core.Containers[h].Node
		s.core.Nodes.Fetch(n)
		s.core.Survey.Fetch(n)
	}
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
