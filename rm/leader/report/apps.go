package report

import (
	"heddle/rm/leader/opportunistic"
	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// App is what the leader alone knows of a live application.
type App struct {
	Progress float32 // 0 to 1
	Pending  records.Resource
	Waiting  int64 // containers asked for
	Asks     []scheduler.Ask
	Black    []string        // hosts and racks on its blacklist
	Uses     []scheduler.Use // by partition; nil: there is but one
}

// Apps returns the soft state of those of some applications that live. It is nil when the leader leads no more.
func (r *Reports) Apps(ids []records.ApplicationID) map[records.ApplicationID]App {
	apps := make(map[records.ApplicationID]App, len(ids))
	err := r.loop.InSlices(len(ids), func(from, to int, more func() bool) int {
		for i, id := range ids[from:to] {
			if h, progress, ok := r.cfg.Cluster.App(id); ok {
				s := r.cfg.Scheduler
				apps[id] = App{Progress: progress, Pending: s.PendingResource(h), Waiting: s.Pending(h), Asks: s.Asks(h), Black: s.Blacklist(h), Uses: s.UsesOf(h)}
			}
			if !more() {
				return from + i + 1
			}
		}
		return to
	})
	if err != nil {
		return nil
	}
	return apps
}

// Opportunistic returns what has become of opportunistic containers. ok is false when the leader leads no more.
func (r *Reports) Opportunistic() (sum opportunistic.Totals, ok bool) {
	err := r.loop.Do(func() error {
		sum = r.cfg.Opportunistic.Totals()
		return nil
	})
	return sum, err == nil
}

// Reserved is what is reserved on nodes for an application.
type Reserved struct {
	Resource   records.Resource
	Containers int
	Requests   int // of one application: how many different ones the containers are of
}

// ShowReserved publishes what is reserved now, so that reports needn't ask the loop. Call it in the loop's operations, when a reservation
// has changed, which is seldom.
func (r *Reports) ShowReserved() {
	type request struct {
		app      scheduler.AppHandle
		priority int32
		id       int64
	}
	of, known := map[records.ApplicationID]Reserved{}, map[request]bool{}
	for _, one := range r.cfg.Scheduler.Reservations() {
		id, ok := r.cfg.Cluster.AppOf(one.App)
		if !ok {
			continue
		}
		sum := of[id]
		sum.Resource, sum.Containers = sum.Resource.Add(one.Resource), sum.Containers+1
		if q := (request{one.App, one.Priority, one.AllocationRequestID}); !known[q] {
			known[q] = true
			sum.Requests++
		}
		of[id] = sum
	}
	r.reserved.Store(&of)
}

// Reserved returns what is reserved for the applications for which anything is. Callers must not change the map.
func (r *Reports) Reserved() map[records.ApplicationID]Reserved {
	if of := r.reserved.Load(); of != nil {
		return *of
	}
	return nil
}

// Totals are sums over the cluster.
type Totals struct {
	Pending  records.Resource
	Waiting  int64
	Headroom records.Resource
	Nodes    int              // that take containers
	Maximum  records.Resource // of a container now
}

// Totals returns sums that only the scheduler knows.
func (r *Reports) Totals() (sum Totals) {
	_ = r.loop.Do(func() error {
		for h := range r.cfg.Cluster.Apps() {
			sum.Pending = sum.Pending.Add(r.cfg.Scheduler.PendingResource(h))
			sum.Waiting += r.cfg.Scheduler.Pending(h)
		}
		sum.Headroom, sum.Nodes, sum.Maximum = r.cfg.Scheduler.Headroom(), r.cfg.Scheduler.OpenNodes(), r.cfg.Sizes.Maximum()
		return nil
	})
	return sum
}
