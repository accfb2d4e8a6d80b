package queue

import (
	"errors"
	"slices"
)

// CheckUpdate reports why a tree can't take the place of another one while applications live in some queues; nil if it can.
// Like YARN it wants a queue to be stopped before it goes, or before a leaf becomes a parent, and unlike YARN it refuses to
// take away a queue, stopped or not, that applications live in (Hadoop: CapacitySchedulerConfigValidator). The change that takes a queue
// away may stop it as well. inUse is the number
// of live applications by the path of a leaf, which may be one that was made for them.
func (t *Tree) CheckUpdate(next *Tree, inUse map[string]int) error {
	if t.Kind != next.Kind {
		return errors.New("the scheduler can't be changed while the ResourceManager runs")
	}
	if t.Kind != Capacity {
		return nil // a queue of a Fair tree that is used stays, as if it had been made for its applications
	}
	var errs []error
	for _, q := range slices.Backward(t.queues) { // those below a queue first: YARN names one of them
		after := next.byPath[q.Path]
		state := "RUNNING"
		if q.Stopped {
			if state = "STOPPED"; used(q, inUse) > 0 {
				state = "DRAINING"
			}
		}
		switch {
		case after == nil && state == "RUNNING" && next.stoppedGone[q.Path] && used(q, inUse) == 0:
		case after == nil && state != "STOPPED":
			errs = append(errs, inWords("%s cannot be deleted from the capacity scheduler configuration, as the queue is not yet in stopped state. Current State : %s",
				q.Path, state))
		case after == nil:
		case q.Leaf() && !after.Leaf() && (inUse[q.Path] > 0 || state == "RUNNING" && !after.Stopped):
			errs = append(errs, inWords("Can not convert the leaf queue: %s to parent queue since it is not yet in stopped state. Current State : %s",
				q.Path, state))
		case !q.Leaf() && after.Leaf() && used(q, inUse) > 0:
			errs = append(errs, inWords("Can not convert the parent queue: %s to leaf queue since applications live below it", q.Path))
		}
	}
	return errors.Join(errs...)
}

// used is the number of live applications in a queue and below it.
func used(q *Queue, inUse map[string]int) (n int) {
	q.All(func(q *Queue) { n += inUse[q.Path] })
	return n
}

// KeepStopped stops the queues that were stopped in the tree before and for which no state is configured: those that were stopped with a
// queue above them don't start with it (Hadoop: AbstractCSQueue.initializeQueueState). Nobody may use the tree yet.
func (t *Tree) KeepStopped(before *Tree) {
	for _, q := range t.queues {
		if was := before.byPath[q.Path]; was != nil && was.Stopped && !q.ownState {
			q.Stopped = true
		}
	}
}
