package pareto

// WindowSize is how many tasks a Window has at most.
const WindowSize = 200

// Window has how long the last 200 tasks of one kind took. The zero value is empty.
type Window struct {
	took  []float32 // as Shape takes them
	next  int
	least float64   // for which logs are
	logs  []float64 // ln(x_i/x_m) of each; unknown: it isn't there yet. A fit needs few new ones, as most tasks were there at the one before
}

// unknown is no logarithm of a ratio that is 1 at least.
const unknown = -1

// Add adds a task, in any unit, above 0. It was cut off at that time if it failed, or if a copy was faster.
func (w *Window) Add(took float64, cut bool) {
	if cut {
		took = -took
	}
	if len(w.took) < WindowSize {
		w.took, w.logs = append(w.took, float32(took)), append(w.logs, unknown)
		return
	}
	w.took[w.next], w.logs[w.next] = float32(took), unknown
	w.next = (w.next + 1) % WindowSize
}

// Len returns how many tasks it has.
func (w *Window) Len() int { return len(w.took) }

// Shape returns the estimate of its tasks, as the function Shape finds it.
func (w *Window) Shape() (beta float64, ended int) {
	least, ended := leastOf(w.took)
	if ended < Enough {
		return 0, ended
	}
	if least != w.least {
		w.least = least
		for i := range w.logs {
			w.logs[i] = unknown
		}
	}
	sum := 0.
	for i, x := range w.logs {
		if x == unknown {
			x = logOf(w.took[i], least)
			w.logs[i] = x
		}
		sum += x
	}
	return float64(ended) / sum, ended
}
