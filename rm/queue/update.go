package queue

import (
	"errors"
	"fmt"
	"slices"

	"heddle/rm/queue/template"
)

// CheckUpdate returns an error if next can't replace the tree while applications live in some queues; nil if it can.
// Like YARN it requires that a queue is stopped before it is removed, or before a leaf becomes a parent (Hadoop:
// CapacitySchedulerConfigValidator). The change that removes the queue may stop it as well. Unlike YARN it refuses to
// remove any queue, stopped or not, that has live applications. inUse is the number
// of live applications by the path of a leaf, which may be one that the scheduler created.
func (t *Tree) CheckUpdate(next *Tree, inUse map[string]int) error {
	if t.Kind != next.Kind {
		return errors.New("the scheduler can't be changed while the ResourceManager runs")
	}
	if t.Kind != Capacity {
		return nil // a queue of a Fair tree that is in use stays, as if it had been created for its applications
	}
	var errs []error
	for _, q := range slices.Backward(t.queues) { // descendants first: YARN names one of them
		after := next.byPath[q.Path]
		state := "RUNNING"
		if q.Stopped {
			if state = "STOPPED"; used(q, inUse) > 0 {
				state = "DRAINING"
			}
		}
		switch {
		case after == nil && state == "RUNNING" && next.stoppedGone[q.Path] && used(q, inUse) == 0:
		case after == nil && q.Made != template.Static && used(q, inUse) == 0:
		case after == nil && state != "STOPPED":
			errs = append(errs, inWords("%s cannot be deleted from the capacity scheduler configuration, as the queue is not yet in stopped state. Current State : %s",
				q.Path, state))
		case after == nil:
		case !q.Leaf() && !q.Creation.Legacy && after.Creation.Legacy:
			errs = append(errs, inWords("Can not convert parent queue: %s to auto create enabled parent queue since it could have other pre-configured queues which is not supported", q.Path))
		case q.Creation.Legacy && !after.Creation.Legacy:
			errs = append(errs, inWords("Cannot convert auto create enabled parent queue: %s to leaf queue. Please check  parent queue's configuration %s is set to true", q.Path, template.LegacyKey))
		case q.Leaf() && !after.Leaf() && (inUse[q.Path] > 0 || state == "RUNNING" && !after.Stopped):
			errs = append(errs, inWords("Can not convert the leaf queue: %s to parent queue since it is not yet in stopped state. Current State : %s",
				q.Path, state))
		case !q.Leaf() && after.Leaf() && used(q, inUse) > 0:
			errs = append(errs, inWords("Can not convert the parent queue: %s to leaf queue since applications live below it", q.Path))
		}
	}
	return errors.Join(errs...)
}

// used returns the number of live applications in a queue and its descendants.
func used(q *Queue, inUse map[string]int) (n int) {
	q.All(func(q *Queue) { n += inUse[q.Path] })
	return n
}

// KeepStopped stops queues without a configured state that were stopped in the tree before: queues that were stopped with
// an ancestor don't start with it (Hadoop: AbstractCSQueue.initializeQueueState). The tree must not be in use yet.
func (t *Tree) KeepStopped(before *Tree) {
	for _, q := range t.queues {
		if was := before.byPath[q.Path]; was != nil && was.Stopped && !q.ownState {
			q.Stopped = true
		}
	}
}

// words are errors in Hadoop's wording, which may begin with a capital letter.
type words string

func (w words) Error() string { return string(w) }

func inWords(format string, args ...any) error { return words(fmt.Sprintf(format, args...)) }
