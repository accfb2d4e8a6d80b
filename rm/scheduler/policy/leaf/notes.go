package leaf

import "heddle/rm/scheduler/handle"

// Note is where a policy finds what it has noted about a container. The scheduler keeps it with the container, so that there is no need to search
// among hundreds of thousands. 0: nothing is noted.
type Note int32

// Notes has what a policy notes about containers. The zero value is ready. It allocates nothing unless it grows.
type Notes[V any] struct {
	rows []noted[V]
	free []Note
}

type noted[V any] struct {
	of    handle.Container // +1; 0: the row is free
	value V
}

// Add notes something about a container, and returns where.
func (t *Notes[V]) Add(c handle.Container, v V) (n Note) {
	if last := len(t.free) - 1; last >= 0 {
		n, t.free = t.free[last], t.free[:last]
	} else {
		t.rows = append(t.rows, noted[V]{})
		n = Note(len(t.rows))
	}
	t.rows[n-1] = noted[V]{c + 1, v}
	return n
}

// At returns what is noted about a container, nil if nothing is: the note may be that of another policy, which the application has left. It is
// good until the next Add.
func (t *Notes[V]) At(c handle.Container, n Note) *V {
	if n <= 0 || int(n) > len(t.rows) || t.rows[n-1].of != c+1 {
		return nil
	}
	return &t.rows[n-1].value
}

// Remove forgets a note.
func (t *Notes[V]) Remove(n Note) {
	t.rows[n-1] = noted[V]{}
	t.free = append(t.free, n)
}

// All goes through everything. Remove may be called meanwhile, Add may not.
func (t *Notes[V]) All(yield func(Note, *V) bool) {
	for i := range t.rows {
		if r := &t.rows[i]; r.of != 0 && !yield(Note(i+1), &r.value) {
			return
		}
	}
}
