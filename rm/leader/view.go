package leader

import (
	"math"

	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// AppView is what the leader alone knows of a live application.
type AppView struct {
	Progress float32 // 0 to 1
	Pending  records.Resource
	Waiting  int64 // containers asked for
	Asks     []scheduler.Ask
	Black    []string
}

// App returns the soft state of a live application; ok is false for one that isn't.
func (l *Leader) App(id records.ApplicationID) (view AppView, ok bool) {
	err := l.do(func(t *turn) error {
		soft := t.apps[id]
		if ok = soft != nil; !ok {
			return nil
		}
		view = AppView{
			Pending: t.sched.PendingResource(soft.handle), Waiting: t.sched.Pending(soft.handle),
			Asks: t.sched.Asks(soft.handle), Black: t.sched.Blacklist(soft.handle),
		}
		if soft.session != nil {
			view.Progress = soft.session.Progress()
		}
		return nil
	})
	return view, ok && err == nil
}

// Progress returns how far an attempt is, 0 to 1; 0 when it isn't known.
func (l *Leader) Progress(id records.AttemptID) float32 {
	if s := l.sessions.am(id); s != nil {
		return s.Progress()
	}
	return 0
}

// Progress is what the ApplicationMaster last said, 0 to 1.
func (s *amSession) Progress() float32 { return math.Float32frombits(s.progress.Load()) }

// Node returns the health and load that a node last reported; ok is false when it hasn't yet.
func (l *Leader) Node(id records.NodeID) (status NodeStatus, ok bool) {
	s := l.sessions.node(id)
	if s == nil {
		return NodeStatus{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status, s.registered
}

// Totals are sums over the cluster.
type Totals struct {
	Pending  records.Resource
	Waiting  int64
	Headroom records.Resource
	Nodes    int
	Maximum  records.Resource
}

// Totals returns sums that only the scheduler knows.
func (l *Leader) Totals() (sum Totals) {
	_ = l.do(func(t *turn) error {
		for _, soft := range t.apps {
			sum.Pending = sum.Pending.Add(t.sched.PendingResource(soft.handle))
			sum.Waiting += t.sched.Pending(soft.handle)
		}
		sum.Headroom, sum.Nodes, sum.Maximum = t.sched.Headroom(), t.sched.OpenNodes(), t.maximum()
		return nil
	})
	return sum
}

// Nudge makes an ApplicationMaster's call that waits for something to tell come back at once.
func (l *Leader) Nudge(id records.AttemptID) {
	if s := l.sessions.am(id); s != nil {
		signal(s.nudged)
	}
}
