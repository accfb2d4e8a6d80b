// Package totals counts what has become of the applications and containers of each queue since a leader began, as YARN's QueueMetrics do
// since their ResourceManager started. The leader counts, and monitoring reads.
package totals

import (
	"maps"
	"sync"

	"heddle/rm/ledger"
	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// Queue has the sums of a queue itself, without those below it.
type Queue struct {
	Submitted, Completed, Failed, Killed int64 // applications; those that were taken over count as submitted
	Granted, Released                    int64 // containers
	NodeLocal, RackLocal, OffSwitch      int64 // of Granted: where, as the request wanted it
	Preempted                            int64 // containers that ended for others
	PreemptedResource                    records.Resource
	PreemptedMBSeconds                   int64
	PreemptedVCoreSeconds                int64
	Firsts, FirstsDelay                  int64 // attempts that got a first container beside their ApplicationMaster's, and ms that they waited for it, in all
}

// Add adds another queue's sums.
func (q *Queue) Add(o Queue) {
	q.Submitted, q.Completed, q.Failed, q.Killed = q.Submitted+o.Submitted, q.Completed+o.Completed, q.Failed+o.Failed, q.Killed+o.Killed
	q.Granted, q.Released = q.Granted+o.Granted, q.Released+o.Released
	q.NodeLocal, q.RackLocal, q.OffSwitch = q.NodeLocal+o.NodeLocal, q.RackLocal+o.RackLocal, q.OffSwitch+o.OffSwitch
	q.Preempted, q.PreemptedResource = q.Preempted+o.Preempted, q.PreemptedResource.Add(o.PreemptedResource)
	q.PreemptedMBSeconds, q.PreemptedVCoreSeconds = q.PreemptedMBSeconds+o.PreemptedMBSeconds, q.PreemptedVCoreSeconds+o.PreemptedVCoreSeconds
	q.Firsts, q.FirstsDelay = q.Firsts+o.Firsts, q.FirstsDelay+o.FirstsDelay
}

// Totals are the sums by the paths of queues. The zero value is empty. The methods are safe for concurrent use.
type Totals struct {
	mu sync.Mutex
	by map[string]Queue
}

func (t *Totals) change(queue string, by Queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil {
		t.by = map[string]Queue{}
	}
	q := t.by[queue]
	q.Add(by)
	t.by[queue] = q
}

// Queues returns the sums of all queues that have some.
func (t *Totals) Queues() map[string]Queue {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.by)
}

// Submitted counts an application.
func (t *Totals) Submitted(queue string) { t.change(queue, Queue{Submitted: 1}) }

// Ended counts the end of an application that was counted as submitted.
func (t *Totals) Ended(queue string, state ledger.AppState) {
	switch state {
	case ledger.AppFailed:
		t.change(queue, Queue{Failed: 1})
	case ledger.AppKilled:
		t.change(queue, Queue{Killed: 1})
	default:
		t.change(queue, Queue{Completed: 1})
	}
}

// Places has numbers of containers by where they are, as their requests wanted it.
type Places [scheduler.OffSwitch + 1]int64

// Granted counts containers.
func (t *Totals) Granted(queue string, at *Places) {
	q := Queue{NodeLocal: at[scheduler.NodeLocal], RackLocal: at[scheduler.RackLocal], OffSwitch: at[scheduler.OffSwitch]}
	q.Granted = q.NodeLocal + q.RackLocal + q.OffSwitch
	t.change(queue, q)
}

// First counts an attempt's first container beside its ApplicationMaster's, which it has waited for, in ms.
func (t *Totals) First(queue string, waited int64) {
	t.change(queue, Queue{Firsts: 1, FirstsDelay: waited})
}

// Released counts a container that was given back, for whatever reason.
func (t *Totals) Released(queue string) { t.change(queue, Queue{Released: 1}) }

// Preempted counts a container that ends for others, after some ms. It is counted as released besides.
func (t *Totals) Preempted(queue string, r records.Resource, ran int64) {
	t.change(queue, Queue{
		Preempted: 1, PreemptedResource: r,
		PreemptedMBSeconds: r.MemoryMB() * ran / 1000, PreemptedVCoreSeconds: r.VCores() * ran / 1000,
	})
}
