package shorttasks

import "time"

// learn records what a copy has taken.
func (st *staged) learn(took time.Duration, size int64) {
	if st.size = size; st.each == 0 {
		st.each = took
	}
	st.each = max(1, st.each+(took-st.each)/paceMean)
}

// inMemoryBy reports whether one of some files is expected to be in memory after some time: it is already, or a copy of the usual size would be made by then. A
// node that has made no copy yet promises nothing. The lock is held.
func (j *job) inMemoryBy(files []string, wait time.Duration) bool {
	st := j.s.n.staged
	if st == nil || len(files) == 0 {
		return false
	}
	if len(j.inMemory()) > 0 {
		return true
	}
	took, room := st.rules.Soon(st.size, st.each)
	return st.each > 0 && room && took <= wait
}

// settlePromise counts whether an input is in memory as a quote has said, when the node asks for a task of the job. If that comes earlier than was expected, a copy may
// be missing. The lock is held.
func (j *job) settlePromise(now time.Duration) {
	if j.promise == 0 {
		return
	}
	kept := len(j.inMemory()) > 0
	if kept || now >= j.promise {
		j.s.n.staged.promises.Due(kept)
	}
	j.promise = 0
}
