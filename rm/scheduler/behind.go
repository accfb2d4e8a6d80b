package scheduler

import (
	"fmt"

	"heddle/rm/scheduler/class"
	"heddle/rm/scheduler/handle"
	"heddle/yarn/records"
)

// Another is what Reason.Text calls the application Reason.Behind, whose name the scheduler doesn't know.
const Another = "another application"

// head is what holds back the asks of a queue.
type head struct {
	room  records.Resource // that the queue has, less what is kept for others
	spent bool             // it has nothing left
	by    *demand          // in the leaf, which those behind it wait for; nil if there is none
	from  *demand          // of another leaf, for which something is kept that this one could have; nil if there is none
}

// look finds out who blocks the leaves that have something to place.
func (s *Scheduler) look() map[int32]head {
	out := map[int32]head{}
	var from *demand
	w := walk{s: s}
	w.tell = func(h int32, at head) {
		at.from = from
		if out[h] = at; at.by != nil {
			from = at.by
		}
	}
	w.all(1 << class.Shared)
	return out
}

// explainHead looks for an ask whose turn is earlier and that is larger than what its queue has left.
func (s *Scheduler) explainHead(a *app, d *demand, r *Reason) bool {
	if !s.capacity || d.reservations > 0 {
		return false
	}
	var heads map[int32]head
	if x := s.explaining; x == nil {
		heads = s.look()
	} else {
		if x.heads == nil {
			x.heads = s.look()
		}
		heads = x.heads
	}
	at, known := heads[a.leaf]
	switch {
	case !known:
		return false
	case at.from != nil && !s.calc.Fits(&d.size, &at.room):
		q := &s.queues[s.apps[at.from.app].leaf]
		r.Queue, r.Behind = q.cfg.Path, at.from.app
		r.Text = fmt.Sprintf("what its queue could have is kept for queue %s, where the ask of %s of %s is larger than what is left", r.Queue,
			Another, s.format(at.from.capability))
		r.Free = "the end of containers until that ask fits, or its withdrawal"
		r.Short = lacks(d.size, at.room)
	case at.by != nil && at.by != d && s.earlier(at.by, a, d):
		r.Queue, r.Behind = s.queues[a.leaf].cfg.Path, at.by.app
		whose := Another
		if at.by.app == d.app && a.live {
			whose, r.Behind = "the same application", handle.NoApp
		}
		r.Text = fmt.Sprintf("it is behind %s, whose ask of %s exceeds the %s that queue %s can still have", whose,
			s.format(at.by.capability), s.format(at.room.Max(records.Resource{})), r.Queue)
		r.Free = "the end of containers until that ask fits, its withdrawal, or a higher maximum-capacity"
	default:
		return false
	}
	r.Limit = BehindOthers
	return true
}

// earlier reports whether a demand is served before one of an application of the same leaf.
func (s *Scheduler) earlier(first *demand, a *app, d *demand) bool {
	switch {
	case !a.live: // one that isn't there yet
		return true
	case first.app == d.app:
		return first.compare(d.priority, d.requestID) < 0
	}
	return s.el.Less(s.queues[a.leaf].apps, s.apps[first.app].el, a.el)
}
