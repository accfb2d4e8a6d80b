package suspend

import (
	"sync/atomic"
	"time"
)

// Totals are sums over all containers of a node since its NodeManager began. The zero value is for use.
type Totals struct {
	Out, In atomic.Int64 // bytes that were paged out and read ahead
	// Steps of the ladder, each as often as it was taken to its end: to take the CPU, to take the memory after that, and to resume.
	Stop, Shrink, Resume Step
	// Breath is a breath, without what it takes to page out again what was used. BreathCPU is the CPU time that was used in breaths, in ns.
	Breath     Step
	BreathCPU  atomic.Int64
	stoodStill atomic.Int64 // nanoseconds, of containers that have resumed or ended
}

// Step is how often a step was taken, and how long that took in all.
type Step struct{ count, nanoseconds atomic.Int64 }

func (s *Step) add(begun time.Time) {
	s.count.Add(1)
	s.nanoseconds.Add(int64(time.Since(begun)))
}

// Get returns the number and the sum.
func (s *Step) Get() (count int64, took time.Duration) {
	return s.count.Load(), time.Duration(s.nanoseconds.Load())
}

func (t *Totals) stood(d time.Duration) { t.stoodStill.Add(int64(d)) }

// StoodStill is for how long containers were suspended that do so no more.
func (t *Totals) StoodStill() time.Duration { return time.Duration(t.stoodStill.Load()) }

func (n *Node) pagedOut(bytes int64, took time.Duration) {
	n.Totals.Out.Add(max(bytes, 0))
	n.Rates.pagedOut(bytes, took)
}

func (n *Node) pagedIn(bytes int64, took time.Duration) {
	n.Totals.In.Add(max(bytes, 0))
	n.Rates.pagedIn(bytes, took)
}
