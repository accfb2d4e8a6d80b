package scheduler

import (
	"slices"
	"strings"

	"heddle/rm/queue"
	"heddle/rm/scheduler/fairshare"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/order"
	"heddle/yarn/records"
)

// QueueView is a queue with what it holds and its limits, at this moment.
type QueueView struct {
	Queue  *queue.Queue // as configured; of one that was made for an application, what it counts as
	Path   string
	Parent string
	Leaf   bool

	Used, Reserved, Pending records.Resource
	Containers              int
	// Guaranteed is what is promised, Maximum what it may have at most, Available what it could have now in all, as others
	// above it have theirs.
	Guaranteed, Maximum, Available records.Resource
	AbsoluteUsed                   float64 // share of the cluster
	UsedShare                      float64 // of what is promised, or of one smallest container if that is more
	Apps, Runnable                 int     // applications, and those that too many others don't keep from running

	// Of leaves:
	Active    int // applications that may have containers
	Waiting   int // for the limit on ApplicationMasters
	AMUsed    records.Resource
	AMLimit   records.Resource
	UserLimit records.Resource // of a user of weight 1
	Users     []UserView       // by name

	// Of a Fair tree: what the queue is due among those that are active, and if all were.
	Fair, Steady records.Resource
}

// UserView is a user of a leaf.
type UserView struct {
	Name           string
	Weight         float64
	Used, Reserved records.Resource
	Pending        records.Resource
	Limit          records.Resource
	AMUsed         records.Resource
	AMShare        records.Resource // that ApplicationMasters may have by the limits of users, whatever the queue's limit is
	Active         int              // applications that may have containers
	Waiting        int              // others
	Wants          bool             // asks for something
}

// Queues returns all queues, parents first, in the order of their configuration.
func (s *Scheduler) Queues() []QueueView {
	s.refresh()
	out, now := []QueueView(nil), s.moment()
	var enter func(h int32)
	enter = func(h int32) {
		out = append(out, s.queueView(h, now))
		for _, c := range s.queues[h].below {
			enter(c)
		}
	}
	enter(root)
	return out
}

// Queue returns one queue by its path.
func (s *Scheduler) Queue(path string) (QueueView, bool) {
	h, ok := s.byPath[path]
	if !ok {
		return QueueView{}, false
	}
	s.refresh()
	return s.queueView(h, s.moment()), true
}

// moment is what views of queues need that is computed for all at once.
type moment struct {
	asked []asked                    // by the users' handles
	due   map[int32]*fairshare.Queue // of a Fair tree
}

func (s *Scheduler) moment() (m moment) {
	m.asked = s.askedByUsers()
	if s.tree.Kind == queue.Fair {
		m.due = s.shareFairly()
	}
	return m
}

// asked is what the applications of one user in a leaf wait for, and what is reserved for them.
type asked struct{ pending, reserved records.Resource }

// askedByUsers sums up, by the users' handles, what isn't kept with users.
func (s *Scheduler) askedByUsers() []asked {
	of := make([]asked, len(s.users))
	for i := range s.apps {
		if a := &s.apps[i]; a.live {
			x := &of[a.user]
			x.pending, x.reserved = x.pending.Add(a.pendingSum), x.reserved.Add(a.reserved)
		}
	}
	return of
}

func (s *Scheduler) queueView(h int32, now moment) QueueView {
	q := &s.queues[h]
	v := QueueView{
		Queue: q.cfg, Path: q.cfg.Path, Leaf: q.leaf, Used: q.used, Reserved: q.reserved, Pending: q.pending,
		Containers: int(q.containers), Guaranteed: q.guaranteed, Maximum: q.maximum, Available: s.room(h),
		AbsoluteUsed: s.calc.Share(&q.used), Apps: int(q.total), Runnable: int(q.runnable),
	}
	if q.promised > 0 {
		v.UsedShare = v.AbsoluteUsed / q.promised
	}
	if q.parent != order.Nothing {
		v.Parent = s.queues[q.parent].cfg.Path
	}
	if p := now.due[h]; p != nil {
		v.Fair, v.Steady = p.Fair, p.Steady
	}
	if !q.leaf {
		return v
	}
	v.Active, v.Waiting, v.AMUsed = int(q.active), len(q.waiting), q.amUsed
	if s.tree.Kind == queue.Fair {
		v.AMLimit = s.fairAMLimit(h, now.due)
	} else {
		v.AMLimit = s.amLimit(h)
	}
	v.UserLimit = s.activeUserLimit(q)
	users := s.activeUsers(q)
	for _, u := range q.names {
		v.Users = append(v.Users, s.userView(q, &s.users[u], &now.asked[u], &v, users))
	}
	slices.SortFunc(v.Users, func(a, b UserView) int { return strings.Compare(a.Name, b.Name) })
	return v
}

func (s *Scheduler) userView(q *runQueue, u *user, x *asked, v *QueueView, users int) UserView {
	return UserView{
		Name: u.name, Weight: u.weight, Used: u.used, Limit: s.calc.Weighted(v.UserLimit, u.weight), AMUsed: u.amUsed,
		AMShare: s.userAMShare(q, u, users), Active: int(u.active), Waiting: int(u.total - u.active), Wants: u.wanting > 0,
		Pending: x.pending, Reserved: x.reserved,
	}
}

// AppState is where an application stands in its queue.
type AppState struct {
	Queue    string // the leaf that it is in
	Runnable bool   // isn't kept by how many others run
	Active   bool   // may have containers
	Used     records.Resource
	Reserved records.Resource
	Running  int
}

// AppState tells where an application stands.
func (s *Scheduler) AppState(h handle.App) AppState {
	a := &s.apps[h]
	return AppState{
		Queue: s.queues[a.leaf].cfg.Path, Runnable: a.runnable, Active: a.active, Used: a.used, Reserved: a.reserved, Running: int(a.running),
	}
}
