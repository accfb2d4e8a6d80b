package shorttasks

import "heddle/nm/proc"

// A signal may stop an executor. Then its tasks make no progress, or can't tell that they have ended, and only the silence of its connection would be noticed, after
// 15 s. The kernel knows at once, and mistakes no executor for it that gets no processor on a busy machine, or that a debugger looks at.

// haltedLooks is at how many looks in a row an executor must be stopped: a user may resume it.
const haltedLooks = 2

// endStopped ends executors that were stopped while they have tasks. These run elsewhere.
func (n *Node) endStopped() {
	n.mu.Lock()
	var busy []*executor
	for _, x := range n.executors {
		if x.came && !x.over && x.pid > 0 && x.busy() {
			busy = append(busy, x)
		} else {
			x.halted = 0
		}
	}
	n.mu.Unlock()
	for _, x := range busy {
		p, err := proc.Read(x.pid)
		n.mu.Lock()
		if err != nil || p.State != 'T' {
			x.halted = 0
		} else if x.halted++; x.halted == haltedLooks && !x.over {
			x.why = "executor " + x.name + " was stopped by a signal, and ended for it"
			n.log.Warnf("executor %s was stopped by a signal. It ends, and its tasks run elsewhere", x.name)
			x.stop()
		}
		n.mu.Unlock()
	}
}

// busy reports whether an executor has tasks. Asks that wait for an answer are none. The lock is held.
func (x *executor) busy() bool {
	for _, r := range x.s.runs {
		if r.bound && (r.task == nil || r.handed) {
			return true
		}
	}
	return false
}
