package drive

import (
	"errors"
	"fmt"
	"slices"

	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// swap is the wish of an application that one of its containers is suspended. The freed room is for one of its own requests.
type swap struct {
	container scheduler.ContainerHandle
	priority  int32
	request   int64 // allocation request id; anyRequest: the next request gets the room
}

// AnyRequest is the id in a Swap that leaves the room to the next request.
const AnyRequest int64 = -1

// swaps are the wishes of applications since the last step.
type swaps struct {
	d      *Driver
	wanted []swap
}

// Swap suspends a container, as its application wants, and gives the room to a request of the same application, before others get it,
// with the next Step. It returns why that can't be. If the room isn't enough for the request, or that has been served by then, nothing happens.
//
// The queue must be one whose containers are suspended by preemption, and the node must be able to. How often, for how long and how early
// containers are suspended is bounded as by preemption. The container resumes as those do, when its node has room, or after Unswap as
// soon as there is room.
func (w *swaps) Swap(h scheduler.ContainerHandle, priority int32, request int64) error {
	if err := canStand(w.d, h); err != nil {
		return err
	}
	if w.d.sus.exhausted(h) {
		return errors.New("it was suspended as often, or for as long, as may be")
	}
	w.forget(h)
	w.wanted = append(w.wanted, swap{h, priority, request})
	return nil
}

// canStand returns why a container that runs can't be suspended for its own application, whatever its past; nil: it can.
func canStand(d *Driver, h scheduler.ContainerHandle) error {
	c := &d.containers[h]
	means, queue := d.Means(h)
	able := d.sus.nodes[d.NodeOf(h)]
	switch {
	case !c.known:
		return errors.New("it has just been granted")
	case c.am:
		return errors.New("it runs the ApplicationMaster")
	case !d.Suspends() || !means.Suspends():
		return fmt.Errorf("preemption suspends no containers of queue %s", queue)
	case !able.Suspend:
		return errors.New("its node can't suspend containers")
	case d.apps[c.app].neverSuspend:
		return errors.New("its application may not be suspended")
	case d.Held(h) != d.Claim(h) || d.sus.index(h) >= 0 || d.sus.stopped[h]:
		return errors.New("it is suspended already, or holds less than it claims")
	case d.now-c.since < d.tree.Settings.Suspension.MinimumAge.Milliseconds():
		return errors.New("it is younger than containers are that may be suspended")
	}
	return nil
}

// Unswap resumes a container that is suspended as its application wanted, as soon as its node has room for it.
func (w *swaps) Unswap(h scheduler.ContainerHandle) {
	d := w.d
	w.forget(h)
	if i := d.sus.index(h); i >= 0 && d.sus.own(&d.sus.of[i]) {
		d.sus.of[i].back = true
	}
}

// itself returns a container's own application.
func (x *suspender) itself(h scheduler.ContainerHandle) beneficiary {
	_, queue := x.d.Means(h)
	return beneficiary{queue, x.d.apps[x.d.containers[h].app].id}
}

// own reports whether a container is suspended for its own application. Decisions of an earlier leader name the queue only.
func (x *suspender) own(s *suspended) bool {
	if s.by.app != (records.ApplicationID{}) {
		return s.by.app == x.d.apps[x.d.containers[s.container].app].id
	}
	_, queue := x.d.Means(s.container)
	return s.by.queue == queue
}

func (w *swaps) forget(h scheduler.ContainerHandle) {
	w.wanted = slices.DeleteFunc(w.wanted, func(s swap) bool { return s.container == h })
}

func (x *suspender) wantedBack() bool {
	return slices.ContainsFunc(x.of, func(s suspended) bool { return s.back })
}

// carryOut suspends what applications want.
func (w *swaps) carryOut() {
	x := &w.d.sus
	for _, s := range w.wanted {
		h := s.container
		by := x.itself(h)
		to := x.footprint(h)
		if x.stopped[h] || s.request == AnyRequest && !x.d.Of(h).SetHeld(h, to) || s.request != AnyRequest && !x.d.Exchange(h, to, s.priority, s.request) {
			continue
		}
		x.enterSuspended(h, x.d.now, by)
		reason := "its application wants that"
		if s.request != AnyRequest {
			reason += ", and gets its room"
		}
		x.change(Suspend, h, to, reason, by)
	}
	w.wanted = w.wanted[:0]
}

// footprint returns what a container holds that is suspended.
func (x *suspender) footprint(h scheduler.ContainerHandle) records.Resource {
	return footprint(x.d.Held(h), x.nodes[x.d.NodeOf(h)])
}

func footprint(held records.Resource, able Ability) records.Resource {
	held[records.VCores] = 0
	if able.Reclaim {
		held[records.Memory] = min(footprintMB, held[records.Memory])
	}
	return held
}
