package opportunistic

import (
	"heddle/rm/scheduler"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Totals count opportunistic containers (Hadoop: OpportunisticSchedulerMetrics), all but Allocated since the leadership began. One that is promoted is given back,
// and one that was demoted isn't counted.
type Totals struct {
	Allocated                       int   // now
	NodeLocal, RackLocal, OffSwitch int64 // granted: where, as the request wanted it
	Released                        int64 // includes those that an earlier leader granted
	Latency                         Latency
}

// Granted returns how many were granted.
func (t *Totals) Granted() int64 { return t.NodeLocal + t.RackLocal + t.OffSwitch }

func (t *Totals) at(where scheduler.Locality) {
	switch where {
	case scheduler.NodeLocal:
		t.NodeLocal++
	case scheduler.RackLocal:
		t.RackLocal++
	default:
		t.OffSwitch++
	}
}

// Totals returns the counts of now.
func (a *Allocator) Totals() Totals {
	a.forget(len(a.live))
	a.totals.Allocated = len(a.live)
	a.latencies.roll(a.loop.Time())
	a.totals.Latency = a.latencies.last
	return a.totals
}

// forget looks at some containers, and forgets those that have ended or were promoted.
func (a *Allocator) forget(most int) {
	for id := range a.live {
		if most--; most < 0 {
			return
		}
		if !a.lives(id) {
			delete(a.live, id)
			a.totals.Released++
		}
	}
}

func (a *Allocator) lives(id records.ContainerID) bool {
	app := a.work.Apps[id.Attempt.App]
	if app == nil {
		return false
	}
	c := app.Containers.Get(id)
	return c != nil && c.Live() && c.ExecutionType == pb.ExecutionType_OPPORTUNISTIC
}
