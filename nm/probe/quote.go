package probe

import (
	"math"
	"time"
)

// Quote is when a node expects to start a task, from now on.
type Quote struct {
	P50, P95 time.Duration
}

// Quote says how long a probe of a job that arrived now would wait until it has a task. It counts what runs and what goes first in the order of
// arrival, by estimates, and supposes that durations vary as exponential ones do. Of the probes in front only as many count as got tasks lately.
// With Config.Counted it looks at no probe one by one.
func (w *Worker) Quote(h Handle) Quote {
	j := &w.jobs.rest[h]
	slots := w.lent.times(j.Size)
	if slots == 0 {
		return Quote{P50: math.MaxInt64, P95: math.MaxInt64} // nothing is lent that it fits in
	}
	// The rest of an exponential duration is as long as the whole, and the first of several rests so many times shorter.
	busy, k := w.busy(), float64(slots)
	mean, variance := busy.sum.float()/k, busy.squares.float()/k
	front := w.front(j.Priority)
	if busy.count+front.count < slots {
		return Quote{}
	}
	yield := 1 - w.noOps // the part of asks that got a task lately
	sum := front.sum.float()
	mean += yield * sum
	variance += yield * (2 - yield) * front.squares.float()
	variance += yield * w.noOps / (2*lately - 1) * sum * sum // as the part that gets tasks isn't known any better
	mean, deviation := mean/k, math.Sqrt(variance)/k
	// Sums of durations are skewed: a gamma distribution with the same mean and deviation, by Wilson and Hilferty.
	shape := mean * mean / (deviation * deviation)
	at := func(z float64) time.Duration {
		x := 1 - 1/(9*shape) + z/(3*math.Sqrt(shape))
		return time.Duration(min(mean*max(0, x*x*x), longest))
	}
	return Quote{P50: at(0), P95: at(1.645)}
}

// longest is the longest time that is quoted: estimates of many years, of many probes, are more than a Duration can be.
const longest = 1 << 62

// lately is over how many asks the part of those with a task is averaged.
const lately = 32
