package drive

import (
	"cmp"
	"slices"

	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// exchangeAfter is how long, in ms, a container waits for room that becomes free when it was suspended for as long as may be.
const exchangeAfter = 60_000

// exchange has containers that were suspended for as long as may be go on in the room of others of their application on the same node, which
// are suspended for it. Those may wait for them: reduces that run wait for the output of a suspended map, and would keep its room for ever.
func (x *suspender) exchange() {
	for i := 0; i < len(x.of); i++ {
		s := x.of[i]
		if x.d.now-exchangeAfter < x.due(&s) {
			continue
		}
		if taken, ok := x.makeWay(s.container); ok {
			x.resumed(s, "it was suspended for as long as may be, and another container of its application makes way")
			by := x.itself(s.container)
			for _, h := range taken {
				x.enterSuspended(h, x.d.now, by)
				x.change(Suspend, h, x.d.Held(h), "a container of its application goes on that was suspended for as long as may be", by)
			}
			i = -1 // the list is another one
		}
	}
}

// makeWay takes from containers what a suspended one of their application lacks, the newest first, and gives it that. It returns from
// which. Nothing changes if that isn't enough.
func (x *suspender) makeWay(h scheduler.ContainerHandle) (taken []scheduler.ContainerHandle, ok bool) {
	claim := x.d.Claim(h)
	for _, o := range x.siblings(h) {
		if x.d.SetHeld(o, x.footprint(o)) {
			taken = append(taken, o)
		}
		if x.d.SetHeld(h, claim) {
			return taken, true
		}
	}
	for _, o := range slices.Backward(taken) {
		x.d.SetHeld(o, x.d.Claim(o))
	}
	return nil, false
}

// siblings are the containers of a container's application that run on its node and may stand still for it, the newest first.
func (x *suspender) siblings(h scheduler.ContainerHandle) (list []scheduler.ContainerHandle) {
	d := x.d
	for i := range d.containers {
		o := scheduler.ContainerHandle(i)
		if o == h || d.containers[o].app != d.containers[h].app || d.NodeOf(o) != d.NodeOf(h) {
			continue
		}
		if runs := d.CanHold(o, records.Resource{}); runs && mayStand(d, o) == nil {
			list = append(list, o)
		}
	}
	slices.SortStableFunc(list, func(a, b scheduler.ContainerHandle) int {
		return cmp.Or(cmp.Compare(d.containers[b].since, d.containers[a].since), cmp.Compare(d.containers[b].id, d.containers[a].id))
	})
	return list
}
