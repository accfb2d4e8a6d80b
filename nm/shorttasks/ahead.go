package shorttasks

import (
	"time"

	"heddle/yarn/wire"
)

// Tasks that were asked for ahead of room are sent ahead, too: an executor begins the next one as soon as one of its own ends. Otherwise the slot would be idle
// for a message to the node and one back.

// recallLimit is how long an executor may take to give a task back. One that hangs would be noticed after wire.Silence only.
const recallLimit = sweepTime

// hand sends tasks ahead that get the next room: as long as they belong to one executor, so that none that waits for longer is passed by. It takes room for
// room, so that tasks of several sizes wait here. The lock is held.
func (n *Node) hand() {
	if lent, used := n.worker.Use(); !used.Fits(lent) {
		return // the next room is taken back
	}
	var to *executor
	for _, slot := range n.worker.Ahead() {
		r := n.runs[slot]
		x := r.s.executor
		if to == nil {
			to = x
		}
		if x == nil || x != to || !x.came || x.over || len(x.disowned) > 0 || !r.mayGo() {
			return
		}
		if !r.handed {
			r.handed = true
			r.task.Ahead = true
			x.say(r.task)
		}
	}
}

// mayGo reports whether a task may wait at the executor. The lock is held.
func (r *run) mayGo() bool {
	return r.bound && r.task != nil && !r.checking && r.recalled.IsZero() && !r.stopping && !r.s.uneven
}

// succeed records that a task has begun in place of another one. The lock is held.
func (r *run) succeed() {
	n := r.s.n
	n.worker.Began(n.now(), r.slot)
	r.begun()
}

// recall tells the executor to give back a task that hasn't begun. The lock is held.
func (r *run) recall() {
	if r.recalled.IsZero() {
		r.recalled = r.s.n.o.Now()
		r.s.executor.say(&wire.Recall{ID: r.id})
	}
}

// recall tells executors to give back all tasks that were sent ahead, if less was lent. The lock is held.
func (n *Node) recall() {
	if lent, used := n.worker.Use(); used.Fits(lent) {
		return
	}
	for _, slot := range n.worker.Ahead() {
		if r := n.runs[slot]; r.handed {
			r.recall()
		}
	}
}

// overdue reports whether the executor should have given a task back by now. It hangs, as far as the node can see. The lock is held.
func (r *run) overdue(now time.Time) bool {
	return r.handed && !r.recalled.IsZero() && now.Sub(r.recalled) > recallLimit
}

// disown sends a task elsewhere that the executor doesn't give back. If it begins the task yet, it is told to end it, and its result there is
// dropped. So the task may start twice, as after the loss of an executor, and has one result. The lock is held.
func (r *run) disown() {
	r.s.executor.disowned[r.id] = true
	r.handed = false
	r.giveBack()
}
