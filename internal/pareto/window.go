package pareto

// WindowSize is how many tasks a Window has at most.
const WindowSize = 200

// Window has how long the last 200 tasks of one kind took. The zero value is empty.
type Window struct {
	took []float32 // as Shape takes them
	next int
}

// Add adds a task, in any unit, above 0. It was cut off at that time if it failed, or if a copy was faster.
func (w *Window) Add(took float64, cut bool) {
	if cut {
		took = -took
	}
	if len(w.took) < WindowSize {
		w.took = append(w.took, float32(took))
		return
	}
	w.took[w.next] = float32(took)
	w.next = (w.next + 1) % WindowSize
}

// Len returns how many tasks it has.
func (w *Window) Len() int { return len(w.took) }

// Shape returns the estimate of its tasks.
func (w *Window) Shape() (beta float64, ended int) { return Shape(w.took) }
