package sim

import "time"

// Wakes enters events whose only effect is that the scheduler decides: where a delay ends, or limits are looked at again.
// The zero value has none.
type Wakes struct {
	entered int
	since   Time // when something else was to come, or the scheduler decided, last
}

// vain is how long the scheduler is asked again without any decision where nothing else is to come: longer than any of its delays.
const vain = Time(2 * time.Hour)

// At enters a wake at a time in ms, unless that is 0 or the last one of its kind, which is kept in last.
func (w *Wakes) At(g *Engine, ms int64, last *int64) {
	if ms > 0 && ms != *last {
		*last = ms
		w.entered++
		g.At(Time(ms)*Time(time.Millisecond), w, 0)
	}
}

// Handle counts a wake that has come.
func (w *Wakes) Handle(int64) { w.entered-- }

// InVain reports whether nothing will happen any more: only wakes are to come, and for two hours they have changed nothing. It is to be called
// after each time of the engine, with whether the scheduler has decided anything.
func (w *Wakes) InVain(g *Engine, decided bool) bool {
	if decided || g.pending() > w.entered {
		w.since = g.now
	}
	return g.now-w.since > vain
}
