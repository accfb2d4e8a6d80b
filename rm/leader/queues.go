package leader

import (
	"heddle/rm/leader/queueconf"
	"heddle/rm/leader/totals"
	"heddle/rm/queue"
	"heddle/rm/scheduler/eventlog"
)

// heldQueues shows the queues to the parts of the leader, and changes them.
type heldQueues struct{ *core }

// Tree implements queueconf.Scheduler.
func (h heldQueues) Tree() *queue.Tree { return h.tree }

// SetTree implements queueconf.Scheduler.
func (h heldQueues) SetTree(tree *queue.Tree, settings map[string]string) error {
	change := eventlog.Event{Op: eventlog.SetTree, Tree: tree, Queues: h.RecordedQueues.With(settings).Creating(tree.Created)}
	if !h.sched.Apply(&change) {
		return change.Err
	}
	h.tree = tree
	return nil
}

// History returns what has become of applications and containers since this leader began, by the paths of queues. It is safe for concurrent use.
func (l *Leader) History() map[string]totals.Queue { return l.totals.Queues() }

// QueueConf reads, changes and resets the configuration of queues: call any method but Begin.
func (l *Leader) QueueConf() *queueconf.Admin { return l.queueConf }
