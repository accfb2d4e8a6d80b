package preempt

import (
	"cmp"
	"fmt"
	"slices"

	"heddle/yarn/records"
)

// IntraSettings are the keys yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.*.
type IntraSettings struct {
	Enabled       bool    // enabled
	PriorityFirst bool    // preemption-order-policy is priority_first: a user below the limit loses containers too
	MostOfQueue   float64 // max-allowable-limit: part of the queue's guarantee that a round takes at most
	Threshold     float64 // minimum-threshold: part of its guarantee that a queue must use
	Conservative  bool    // conservative-drf
}

// within chooses containers of each leaf for applications of the same leaf: for those of higher priority, and for users below their
// limit (Hadoop: IntraQueueCandidatesSelector with FifoIntraQueuePreemptionPlugin).
func (r *selection) within() {
	parents := make([]bool, len(r.Queues))
	for i := range r.Queues {
		if p := r.Queues[i].Parent; p >= 0 {
			parents[p] = true
		}
	}
	for i := range r.Queues {
		q := &r.Queues[i]
		if parents[i] || q.IntraOff || len(r.appsOf[i]) < 2 || !r.positive(q.Guaranteed) ||
			r.ratio(q.Used, q.Guaranteed) < r.settings.Intra.Threshold {
			continue
		}
		d := r.division(q, r.appsOf[i])
		d.spare()
		d.match()
		d.take()
	}
}

// standing is what an application has, and should have, of its leaf. All amounts are without its ApplicationMaster.
type standing struct {
	*App
	user   *userStanding
	master records.Resource // the container of its ApplicationMaster
	gone   records.Resource // chosen already, for other queues
	used   records.Resource // what it will keep of what it has
	ideal  records.Resource
	lacks  records.Resource // of ideal
	spare  records.Resource // it could lose
	due    records.Resource // it is to lose, for others that lack it
}

// userStanding is the same of a user. Amounts are without ApplicationMasters, but for all.
type userStanding struct {
	limit, used, ideal, masters records.Resource
	all                         records.Resource // it has, until containers are taken
	reduced                     bool             // to its limit, in this round
}

// division of a leaf among its applications.
type division struct {
	*selection
	queue *Queue
	apps  []standing // the most important first
	most  records.Resource
}

// division gives each application its part of what the leaf uses: up to what it wants, and to the limit of its user.
func (r *selection) division(q *Queue, list []*App) *division {
	d := &division{selection: r, queue: q, apps: make([]standing, len(list))}
	d.most = r.min(scaled(q.Guaranteed, r.settings.Intra.MostOfQueue), r.allowed)
	users := map[string]*userStanding{}
	left := q.Used
	for i, a := range list {
		s := &d.apps[i]
		s.App = a
		for k := range a.Containers {
			switch c := &a.Containers[k]; {
			case r.taken[c.ID]:
				s.gone = s.gone.Add(c.Resource)
			case c.AM:
				s.master = s.master.Add(c.Resource)
			}
		}
		s.used = atLeast0(a.Used.Sub(s.master).Sub(s.gone))
		u := users[a.User]
		if u == nil {
			u = &userStanding{limit: a.UserLimit}
			users[a.User] = u
		}
		s.user = u
		u.limit, u.masters = u.limit.Sub(s.master), u.masters.Add(s.master)
		u.used, u.all = u.used.Add(s.used), u.all.Add(a.Used)
		left = left.Sub(s.master).Sub(s.gone)
	}
	d.rank()
	for i := range d.apps {
		s := &d.apps[i]
		if !r.positive(left) || r.settings.Intra.Conservative && r.anyGone(left) {
			break
		}
		if !r.less(s.user.ideal, s.user.limit) {
			continue
		}
		s.ideal = r.min(left, r.min(s.used.Add(s.pending()), s.user.limit.Sub(s.user.ideal)))
		s.user.ideal = s.user.ideal.Add(s.ideal)
		if r.more(s.ideal, s.used) {
			s.lacks = s.ideal.Sub(s.used)
		}
		left = atLeast0(left.Sub(s.ideal))
	}
	return d
}

// order sorts applications by priority and age; where a leaf is ordered by fairness and limits go first, by what their users
// and they themselves have, those with least first.
func (d *division) rank() {
	fair := d.queue.FairRanking && !d.settings.Intra.PriorityFirst
	slices.SortFunc(d.apps, func(a, b standing) int {
		switch {
		case !fair:
			return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Seq, b.Seq))
		case a.User == b.User:
			return cmp.Or(d.compare(a.Used, b.Used), cmp.Compare(a.Seq, b.Seq))
		}
		return cmp.Or(d.compare(a.user.used, b.user.used), cmp.Compare(a.Seq, b.Seq))
	})
}

// anyGone reports whether nothing is left of some type that counts.
func (m measure) anyGone(r records.Resource) bool {
	for i, v := range r {
		if v <= 0 && m.measured(i) {
			return true
		}
	}
	return false
}

// spare finds what applications could lose, the least important first, until the round's bound is reached. Where the limits of
// users go first, each keeps one smallest container more than it should have, so that none is taken back and forth.
func (d *division) spare() {
	left := d.most
	for i := len(d.apps) - 1; i >= 0 && d.positive(left); i-- {
		s := &d.apps[i]
		over := atLeast0(s.used.Sub(s.ideal))
		if !d.settings.Intra.PriorityFirst {
			over = atLeast0(over.Sub(d.Minimum))
		}
		if d.anyLess(over, d.Minimum) {
			continue
		}
		s.spare = d.min(over, left)
		left = atLeast0(left.Sub(s.spare))
	}
}

// anyLess reports whether there is less of some type that counts.
func (m measure) anyLess(a, b records.Resource) bool {
	for i := range a {
		if a[i] < b[i] && m.measured(i) {
			return true
		}
	}
	return false
}

// overLimit reports whether a user has more than the limit.
func (d *division) overLimit(u *userStanding) bool { return d.more(u.used, u.limit) }

// match finds the givers for applications that lack something: the most important gets it first, from the least important.
// One user's applications give only to those of higher priority. To another user those of equal priority give what is
// above their own user's limit, and where limits go first those of a user below the limit give nothing.
func (d *division) match() {
	for i := range d.apps {
		h := &d.apps[i]
		for k := len(d.apps) - 1; k >= 0 && d.positive(h.lacks); k-- {
			l := &d.apps[k]
			room := l.spare.Sub(l.due)
			if !d.positive(room) {
				continue
			}
			if h.User == l.User {
				if l.Priority >= h.Priority {
					continue
				}
			} else if over := d.overLimit(l.user); !over && !d.settings.Intra.PriorityFirst {
				continue
			} else if over && l.Priority == h.Priority {
				excess := l.user.used.Sub(l.user.limit)
				if l.user.reduced {
					excess = records.Resource{}
				}
				if d.less(excess, room) {
					l.user.reduced, room = true, excess
				}
			}
			d.hand(h, l, room)
		}
	}
}

func (d *division) hand(h, l *standing, room records.Resource) {
	if got := d.min(h.lacks, room); d.positive(got) {
		h.lacks, l.due = atLeast0(h.lacks.Sub(got)), l.due.Add(got)
	}
}

// take chooses the containers. Where limits of users go first, no user loses one that brings it down to the limit.
func (d *division) take() {
	for k := len(d.apps) - 1; k >= 0; k-- {
		s := &d.apps[k]
		if !d.positive(s.due) {
			continue
		}
		from := taking{
			selection: d.selection, due: s.due, conservative: d.settings.Intra.Conservative,
			reason: fmt.Sprintf("%v of queue %s and user %s uses %v and should have %v of it, as others of the queue wait",
				s.ID, d.queue.Path, s.User, s.Used, s.ideal.Add(s.master)),
		}
		limit := s.user.limit.Add(s.user.masters)
		for _, c := range leastImportantFirst(s.App) {
			if c.AM || c.Reserved {
				continue
			}
			left := s.user.all.Sub(c.Resource)
			if !d.settings.Intra.PriorityFirst && !d.more(left, limit) {
				break
			}
			if from.try(s.App, c) {
				s.user.all = left
			}
		}
	}
}
