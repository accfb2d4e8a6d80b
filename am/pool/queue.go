package pool

// queue is a ring of the waiting tasks. A task that is taken out leaves a gap, which pop skips: no operation takes longer for many tasks.
type queue struct {
	ring       []*Task // its length is a power of two; nil is a gap
	first, end int     // places; that of the ring is the rest after division by its length
	n          int     // tasks, without gaps
}

func (q *queue) at(place int) **Task { return &q.ring[place&(len(q.ring)-1)] }

// grow makes room for another one, by closing the gaps if there are many.
func (q *queue) grow() {
	if q.end-q.first < len(q.ring) {
		return
	}
	size := max(16, len(q.ring))
	if 2*q.n > size {
		size *= 2
	}
	old := *q
	*q = queue{ring: make([]*Task, size)}
	for place := old.first; place < old.end; place++ {
		if t := *old.at(place); t != nil {
			q.put(t, q.end)
			q.end++
		}
	}
}

func (q *queue) put(t *Task, place int) {
	t.place = place
	*q.at(place) = t
	q.n++
}

func (q *queue) push(t *Task) {
	q.grow()
	q.put(t, q.end)
	q.end++
}

// push1st puts a task in front of all others.
func (q *queue) push1st(t *Task) {
	q.grow()
	q.first--
	q.put(t, q.first)
}

// pop returns nil if nothing waits.
func (q *queue) pop() *Task {
	for q.first < q.end {
		at := q.at(q.first)
		t := *at
		*at = nil
		q.first++
		if t != nil {
			q.n--
			return t
		}
	}
	return nil
}

// remove takes a task out that waits.
func (q *queue) remove(t *Task) {
	if t.place < q.first || t.place >= q.end || *q.at(t.place) != t {
		return
	}
	*q.at(t.place) = nil
	q.n--
}
