package pool

// queue has the tasks that wait, as a ring.
type queue struct {
	ring  []*Task // its length is a power of two
	first int
	n     int
}

func (q *queue) grow() {
	if q.n < len(q.ring) {
		return
	}
	ring := make([]*Task, max(16, 2*len(q.ring)))
	for i := range q.n {
		ring[i] = q.at(i)
	}
	q.ring, q.first = ring, 0
}

func (q *queue) index(i int) int { return (q.first + i) & (len(q.ring) - 1) }

func (q *queue) at(i int) *Task { return q.ring[q.index(i)] }

func (q *queue) push(t *Task) {
	q.grow()
	q.ring[q.index(q.n)] = t
	q.n++
}

// push1st puts a task in front of all others.
func (q *queue) push1st(t *Task) {
	q.grow()
	q.first = q.index(len(q.ring) - 1)
	q.ring[q.first] = t
	q.n++
}

// pop returns nil if nothing waits.
func (q *queue) pop() *Task {
	if q.n == 0 {
		return nil
	}
	t := q.at(0)
	q.ring[q.first] = nil
	q.first = q.index(1)
	q.n--
	return t
}

// remove takes a task out, wherever it is.
func (q *queue) remove(t *Task) {
	kept := 0
	for i := range q.n {
		if x := q.at(i); x != t {
			q.ring[q.index(kept)] = x
			kept++
		}
	}
	for i := kept; i < q.n; i++ {
		q.ring[q.index(i)] = nil
	}
	q.n = kept
}
