package scheduler

import (
	"slices"
	"strings"

	"heddle/rm/queue"
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/fairshare"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/ranking"
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
	// Guaranteed is what is guaranteed, Maximum what it may have at most, Available what it could have now in all, as others
	// above it have theirs.
	Guaranteed, Maximum, Available records.Resource
	AbsoluteUsed                   float64 // share of the cluster
	UsedShare                      float64 // of what is guaranteed, or of one smallest container if that is more
	Waits                          int64   // containers that are waited for, of the root alone
	Apps, Runnable                 int     // applications, and those that too many others don't keep from running

	// Of leaves:
	Active    int // applications that may have containers
	Waiting   int // for the limit on ApplicationMasters
	AMUsed    records.Resource
	AMLimit   records.Resource
	UserLimit records.Resource // of a user of weight 1
	UserAM    records.Resource // that ApplicationMasters of such a user may have by the limits of users, whatever AMLimit is
	Users     []UserView       // by name

	// Of a partition of labelled nodes:
	Held   bool    // the queue has, or has had, containers there
	Former *Former // what it had by an earlier configuration

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
	Wanting        int              // applications that ask for something
}

// Queues returns all queues, parents first, in the order of their configuration.
func (v View) Queues() []QueueView { return v.parts[0].queues() }

func (s *part) queues() []QueueView {
	s.core.Refresh()
	out, now := []QueueView(nil), s.moment()
	var enter func(h int32)
	enter = func(h int32) {
		out = append(out, s.queueView(h, now))
		for _, c := range s.core.Queues[h].Below {
			enter(c)
		}
	}
	enter(core.Root)
	for i := range s.core.Apps {
		if a := &s.core.Apps[i]; a.Live {
			out[0].Waits += a.Pending
		}
	}
	return out
}

// Queue returns one queue by its path.
func (v View) Queue(path string) (QueueView, bool) {
	s := &v.parts[0]
	h, ok := s.core.ByPath[path]
	if !ok {
		return QueueView{}, false
	}
	s.core.Refresh()
	return s.queueView(h, s.moment()), true
}

// moment is what views of queues need that is computed for all at once.
type moment struct {
	asked []asked                    // by the users' handles
	due   map[int32]*fairshare.Queue // of a Fair tree
}

func (s *part) moment() (m moment) {
	m.asked, m.due = s.askedByUsers(), s.policy.Shares()
	return m
}

// asked is what the applications of one user in a leaf wait for, and what is reserved for them.
type asked struct{ pending, reserved records.Resource }

// askedByUsers sums up what the applications of each user ask for, by the users' handles. The core has no such sums. Applications that are gone
// ask for nothing.
func (s *part) askedByUsers() []asked {
	of := make([]asked, len(s.core.Users))
	for i := range s.core.Apps {
		a := &s.core.Apps[i]
		x := &of[a.User]
		x.pending, x.reserved = x.pending.Add(a.PendingSum), x.reserved.Add(a.Reserved)
	}
	return of
}

func (s *part) queueView(h int32, now moment) QueueView {
	q := &s.core.Queues[h]
	v := QueueView{
		Queue: q.Cfg, Path: q.Cfg.Path, Leaf: q.Leaf, Used: q.Used, Reserved: q.Reserved, Pending: q.Pending,
		Containers: int(q.Containers), Guaranteed: q.Guaranteed, Maximum: q.Maximum, Available: s.core.Room(h),
		Held: q.Held, AbsoluteUsed: s.core.Calc.Share(&q.Used), Apps: int(q.Total), Runnable: int(q.Runnable),
	}
	if q.GuaranteedShare > 0 {
		v.UsedShare = v.AbsoluteUsed / q.GuaranteedShare
	}
	if q.Parent != ranking.Nothing {
		v.Parent = s.core.Queues[q.Parent].Cfg.Path
	}
	if p := now.due[h]; p != nil {
		v.Fair, v.Steady = p.Fair, p.Steady
	}
	if !q.Leaf {
		return v
	}
	v.Active, v.Waiting, v.AMUsed = int(q.Active), len(q.Waiting), q.AmUsed
	v.AMLimit, v.UserLimit, v.UserAM = s.policy.AMLimit(h), s.policy.UserLimit(q), s.policy.UserAMShare(q, nil)
	for _, u := range q.Names {
		v.Users = append(v.Users, s.userView(q, &s.core.Users[u], &now.asked[u], &v))
	}
	slices.SortFunc(v.Users, func(a, b UserView) int { return strings.Compare(a.Name, b.Name) })
	return v
}

func (s *part) userView(q *core.Queue, u *core.User, x *asked, v *QueueView) UserView {
	return UserView{
		Name: u.Name, Weight: u.Weight, Used: u.Used, Limit: s.core.Calc.Weighted(v.UserLimit, u.Weight), AMUsed: u.AmUsed,
		AMShare: s.policy.UserAMShare(q, u), Active: int(u.Active), Waiting: int(u.Total - u.Active), Wanting: int(u.Wanting),
		Pending: x.pending, Reserved: x.reserved,
	}
}

// AppState is where an application stands in its queue.
type AppState struct {
	Queue    string // the leaf that it is in
	Runnable bool   // not held back by a limit on running applications
	Active   bool   // may have containers
	Used     records.Resource
	Reserved records.Resource
	Running  int
}

// AppState tells where an application stands, and what it has in all partitions.
func (v View) AppState(h handle.App) AppState {
	a := &v.core.Apps[h]
	state := AppState{Queue: v.core.Queues[a.Leaf].Cfg.Path, Runnable: a.Runnable, Active: a.Active}
	for x := range v.partsOf(h) {
		a := &x.core.Apps[h]
		state.Used, state.Reserved, state.Running = state.Used.Add(a.Used), state.Reserved.Add(a.Reserved), state.Running+int(a.Running)
	}
	return state
}
