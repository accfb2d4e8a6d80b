package scheduler

import (
	"heddle/rm/scheduler/handle"
	"heddle/yarn/records"
)

// Exchange reduces what a running container holds, and gives the room to a certain request of its application, with the next call of
// Schedule and before others get it. It reports whether the request may have it; if not, nothing has changed. Nothing else may be
// entered until that call.
func (s *Scheduler) Exchange(h ContainerHandle, to records.Resource, priority int32, request int64) bool {
	core := s.of(h)
	c, before := &core.Containers[h], core.Held(h)
	if !to.FitsIn(before) || !core.SetHeld(h, to) {
		return false
	}
	d := core.Demanded.Find(&core.Apps[c.App].Set, priority, request)
	if d != nil && !d.Guest && core.Offer(d, c.Node) {
		return true
	}
	core.NoteHeld(h, before)
	return false
}

// Offer offers room on a node, which containers there hold no more, to the applications of a leaf in their order, before others get it. That ends
// with the next call of Schedule.
func (s *Scheduler) Offer(to AppHandle, n NodeHandle, room records.Resource) {
	if core := s.at(n); core.Has(to) {
		core.OfferRoom(to, true, n, room)
	}
}

// PreemptFor has the room of a container, once it is freed, go to an application before others. That ends with the next call of
// Schedule, and where the application or the node is removed.
func (s *Scheduler) PreemptFor(h ContainerHandle, to AppHandle) {
	core := s.of(h)
	if c := &core.Containers[h]; c.Live() && !c.Reserved() && core.Has(to) {
		core.OfferRoom(to, false, c.Node, core.Held(h))
	}
}

// lazyKiller is a policy that lets containers that preemption has chosen live on until their room is needed.
type lazyKiller interface {
	MakeKillable(h handle.Container) bool
	SpareKillable()
	Killable() []handle.Container
}

// MakeKillable marks a container to end when its room is needed: then a decision of kind Kill says so. It reports whether
// there is such a container, of capacity queues, that isn't killable already.
func (s *Scheduler) MakeKillable(h ContainerHandle) bool {
	k, ok := s.of(h).Policy.(lazyKiller)
	return ok && k.MakeKillable(h)
}

// SpareKillable clears the mark of all containers.
func (s *Scheduler) SpareKillable() {
	for i := range s.parts {
		if k, ok := s.parts[i].core.Policy.(lazyKiller); ok {
			s.parts[i].due = true
			k.SpareKillable()
		}
	}
}

func (s *part) killableSet() map[handle.Container]bool {
	set := map[handle.Container]bool{}
	if k, ok := s.core.Policy.(lazyKiller); ok {
		for _, h := range k.Killable() {
			set[h] = true
		}
	}
	return set
}
