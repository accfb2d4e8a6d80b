package shorttasks

import (
	"math"
	"time"
)

// pace is how often a node's slots become free, and how long schedulers take to answer. Both are moving means.
type pace struct {
	trip time.Duration // from an ask to its answer
	gap  time.Duration // from one end of a task to the next
	last time.Duration // when a task has last ended
}

const (
	// aheadWithin is within how many round trips a task must end, in the mean, so that another one is asked for ahead of it. Otherwise a round trip is
	// a small part of what a slot does, and late binding is worth more.
	aheadWithin = 8
	maxAhead    = 64
	// aheadLimit is how long a task that was asked for ahead may wait at the node.
	aheadLimit = sweepTime
	paceMean   = 16 // over how many times the means are
)

func (p *pace) answered(took time.Duration) { p.trip += (took - p.trip) / paceMean }

func (p *pace) freed(now time.Duration) {
	p.gap += (now - p.last - p.gap) / paceMean
	p.last = now
}

// ahead returns how many tasks to ask for before there is room: as many as end within a round trip.
func (p *pace) ahead(now time.Duration) int {
	gap := max(p.gap, now-p.last, 1)
	if gap > aheadWithin*p.trip {
		return 0
	}
	return int(math.Ceil(min(float64(p.trip)/float64(gap), maxAhead)))
}
