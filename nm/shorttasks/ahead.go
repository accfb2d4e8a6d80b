package shorttasks

import (
	"heddle/yarn/wire"
)

// Tasks that were asked for ahead of room are sent ahead, too: an executor begins the next one as soon as one of its own ends. Otherwise the slot would be idle
// for a message to the node and one back.

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
		if x == nil || x != to || !x.came || x.over || !r.mayGo() {
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
	return r.bound && r.task != nil && !r.checking && !r.recalled && !r.stopping && !r.s.uneven
}

// succeed takes note that a task has begun in place of another one. The lock is held.
func (r *run) succeed() {
	n := r.s.n
	n.worker.Began(n.now(), r.slot)
	r.begun()
}

// recall has the executor give a task back that hasn't begun. The lock is held.
func (r *run) recall() {
	if !r.recalled {
		r.recalled = true
		r.s.executor.say(&wire.Recall{ID: r.id})
	}
}

// recall has executors give all tasks back that were sent ahead, if less was lent. The lock is held.
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
