package drive

import (
	"cmp"
	"slices"

	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// exchangeAfter is how long, in ms, a container waits for room that becomes free when it was suspended for as long as may be.
const exchangeAfter = 60_000

// A family is the containers of an application on a node.
type family struct {
	app  scheduler.AppHandle
	node scheduler.NodeHandle
}

func (x *suspender) family(h scheduler.ContainerHandle) family {
	return family{x.d.containers[h].app, x.d.NodeOf(h)}
}

// exchange has containers that were suspended for as long as may be resume in the room of others of their application on the same node, which
// are suspended for it. Those may wait for them: reduces that run wait for the output of a suspended map, and would keep its room for ever.
func (x *suspender) exchange() {
	families := map[family][]scheduler.ContainerHandle{}
	for i := range x.of {
		if s := &x.of[i]; x.overdue(s) {
			families[x.family(s.container)] = nil
		}
	}
	if len(families) == 0 {
		return
	}
	x.gather(families)
	for i := 0; i < len(x.of); i++ {
		s := x.of[i]
		if !x.overdue(&s) {
			continue
		}
		if taken, ok := x.makeWay(s.container, families[x.family(s.container)]); ok {
			x.resumed(s, "it was suspended for as long as may be, and another container of its application makes way")
			by := x.itself(s.container)
			for _, h := range taken {
				x.enterSuspended(h, x.d.now, by)
				x.change(Suspend, h, x.d.Held(h), "a container of its application resumes that was suspended for as long as may be", by)
			}
			i = -1 // the list is another one
		}
	}
}

func (x *suspender) overdue(s *suspended) bool { return x.d.now-exchangeAfter >= x.due(s) }

// gather finds the containers of families that run and may be suspended, the newest first. It looks at all containers once, however many are
// overdue.
func (x *suspender) gather(families map[family][]scheduler.ContainerHandle) {
	d := x.d
	for i := range d.containers {
		h := scheduler.ContainerHandle(i)
		if !d.Of(h).CanHold(h, records.Resource{}) { // the handle is none of a container that may change
			continue
		}
		if list, wanted := families[x.family(h)]; wanted && x.mayMakeWay(h) {
			families[x.family(h)] = append(list, h)
		}
	}
	for _, list := range families {
		slices.SortFunc(list, func(a, b scheduler.ContainerHandle) int {
			return cmp.Or(cmp.Compare(d.containers[b].since, d.containers[a].since), cmp.Compare(d.containers[b].id, d.containers[a].id))
		})
	}
}

// mayMakeWay reports whether a container may be suspended for an overdue one of its family. One that was overdue itself has its turn for some time,
// and then makes way, as it may wait for the output of the others.
func (x *suspender) mayMakeWay(h scheduler.ContainerHandle) bool {
	p := x.past[x.d.ContainerID(h)]
	return canStand(x.d, h) == nil && !p.barred(x.d.now) && (p.back == 0 || x.d.now-p.back >= exchangeAfter)
}

// makeWay takes from the containers of its family what a suspended one lacks, in their order, and gives it that. It returns from which.
// Nothing changes if that isn't enough.
func (x *suspender) makeWay(h scheduler.ContainerHandle, family []scheduler.ContainerHandle) (taken []scheduler.ContainerHandle, ok bool) {
	for _, o := range family {
		if x.mayMakeWay(o) && x.d.Of(o).SetHeld(o, x.footprint(o)) {
			taken = append(taken, o)
		}
		if x.regain(h) {
			return taken, true
		}
	}
	for _, o := range slices.Backward(taken) {
		x.d.Of(o).NoteHeld(o, x.d.Claim(o)) // also on a node that has become too small
	}
	return nil, false
}
