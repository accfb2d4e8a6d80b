package leader

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// views tell people what only the leader knows.
type views struct {
	*core
	requests *requests
	reserved atomic.Pointer[map[records.ApplicationID]Reserved]
	shares   fairShares
}

// AppView is what the leader alone knows of a live application.
type AppView struct {
	Progress float32 // 0 to 1
	Pending  records.Resource
	Waiting  int64 // containers asked for
	Asks     []scheduler.Ask
	Black    []string
}

// Apps returns the soft state of those of some applications that live.
func (vs *views) Apps(ids []records.ApplicationID) map[records.ApplicationID]AppView {
	views := make(map[records.ApplicationID]AppView, len(ids))
	err := vs.InSlices(len(ids), func(from, to int, again func() bool) int {
		for i, id := range ids[from:to] {
			if soft := vs.apps[id]; soft != nil {
				views[id] = vs.view(soft)
			}
			if !again() {
				return from + i + 1
			}
		}
		return to
	})
	if err != nil {
		return nil
	}
	return views
}

func (vs *views) view(soft *appSoft) AppView {
	v := AppView{
		Pending: vs.sched.PendingResource(soft.handle), Waiting: vs.sched.Pending(soft.handle),
		Asks: vs.sched.Asks(soft.handle), Black: vs.sched.Blacklist(soft.handle),
	}
	if soft.session != nil {
		v.Progress = soft.session.Progress()
	}
	return v
}

// Reserved is what is reserved on nodes for an application.
type Reserved struct {
	Resource   records.Resource
	Containers int
	Requests   int // of one application: how many different ones the containers are of
}

// showReserved publishes what is reserved now, so that reports needn't ask the loop. Reservations seldom change.
func (vs *views) showReserved() {
	type request struct {
		app      scheduler.AppHandle
		priority int32
		id       int64
	}
	of, known := map[records.ApplicationID]Reserved{}, map[request]bool{}
	for _, r := range vs.sched.Reservations() {
		if soft := vs.byHandle[r.App]; soft != nil {
			sum := of[soft.id]
			sum.Resource, sum.Containers = sum.Resource.Add(r.Resource), sum.Containers+1
			if q := (request{r.App, r.Priority, r.AllocationRequestID}); !known[q] {
				known[q] = true
				sum.Requests++
			}
			of[soft.id] = sum
		}
	}
	vs.reserved.Store(&of)
}

// Reserved returns what is reserved for the applications for which anything is. The map is not to be changed.
func (vs *views) Reserved() map[records.ApplicationID]Reserved {
	if of := vs.reserved.Load(); of != nil {
		return *of
	}
	return nil
}

// fairSharesAge is how old shares may be that FairShares returns (yarn.scheduler.fair.update-interval-ms, as it is by default).
const fairSharesAge = 500 * time.Millisecond

// fairShares are what fair queues were due, and when.
type fairShares struct {
	sync.Mutex
	at time.Time
	of map[string]records.Resource
}

// FairShares returns what the queues of a Fair tree are due now, by their paths, and nothing if the queues are others'. As YARN computes
// it from time to time, it may be a little old, so that many reports cost one computation. It is not to be changed.
func (vs *views) FairShares() map[string]records.Resource {
	if vs.Settings.Live.Tree().Kind != queue.Fair {
		return nil
	}
	s := &vs.shares
	s.Lock()
	defer s.Unlock()
	if now := vs.Now(); s.of == nil || now.Sub(s.at) >= fairSharesAge {
		queues, err := vs.Queues()
		if err != nil { // it leads no more
			return s.of
		}
		s.at, s.of = now, make(map[string]records.Resource, len(queues))
		for i := range queues {
			s.of[queues[i].Path] = queues[i].Fair
		}
	}
	return s.of
}

// Progress returns how far an attempt is, 0 to 1; 0 when it isn't known.
func (ms *masters) Progress(id records.AttemptID) float32 {
	if s := ms.masterSessions.Get(id); s != nil {
		return s.Progress()
	}
	return 0
}

// Progress is what the ApplicationMaster last said, 0 to 1.
func (s *amSession) Progress() float32 { return math.Float32frombits(s.progress.Load()) }

// Node returns the health and load that a node last reported; ok is false when it hasn't yet.
func (ns *nodeManagers) Node(id records.NodeID) (status NodeStatus, ok bool) {
	s := ns.nodeSessions.Get(id)
	if s == nil {
		return NodeStatus{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status, s.dialogue.Registered()
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
func (vs *views) Totals() (sum Totals) {
	_ = vs.Do(func() error {
		for _, soft := range vs.apps {
			sum.Pending = sum.Pending.Add(vs.sched.PendingResource(soft.handle))
			sum.Waiting += vs.sched.Pending(soft.handle)
		}
		sum.Headroom, sum.Nodes, sum.Maximum = vs.sched.Headroom(), vs.sched.OpenNodes(), vs.requests.maximum()
		return nil
	})
	return sum
}

// Nudge makes an ApplicationMaster's call that waits for something to tell come back at once.
func (ms *masters) Nudge(id records.AttemptID) {
	if s := ms.masterSessions.Get(id); s != nil {
		s.nudged.Ring()
	}
}
