package usage

import (
	"heddle/rm/ledger/ledgerpb"
)

// Lengths of the history.
const (
	Step       = 10_000  // ms of a fine step
	FineKeep   = 8_640   // fine steps: a day
	CoarseStep = 900_000 // ms of a coarse step
	CoarseKeep = 2_880   // coarse steps: 30 days

	perCoarse = CoarseStep / Step
)

// Bounds of the history.
const (
	MaxBytes  = 32 << 20 // of all series; they are measured each quarter of an hour
	MaxSeries = 3_000    // further ones are not kept
	maxName   = 1_024    // bytes; the series of a longer name is not kept
	maxSpans  = 2_000    // of a tier: gaps are few
)

// History is that of a cluster. The zero value isn't ready: use New. A nil History keeps nothing. It is not safe for concurrent use.
type History struct {
	fine, coarse tier
	last         int64 // fine step of the last sample, 0: there was none
	samples      int64 // of the coarse step that is under way
	now          map[string]*current
	refused      bool // a series is not kept, as there are too many
	bytes        int  // bound; MaxBytes
}

// current is a series in the coarse step that is under way.
type current struct {
	Figures         // now
	sum     Figures // of its samples, but for those since at, which are like now
	at      int64
}

// settle brings the sum up to date after so many samples.
func (c *current) settle(samples int64) {
	for i := range c.sum {
		c.sum[i] += c.Figures[i] * (samples - c.at)
	}
	c.at = samples
}

// New returns an empty history.
func New() *History {
	return &History{fine: newTier(Step, FineKeep), coarse: newTier(CoarseStep, CoarseKeep), now: map[string]*current{}, bytes: MaxBytes}
}

// Apply takes a sample of a moment, in ms since 1970. One that isn't later than the last one, by a step, is left out.
func (h *History) Apply(ms int64, c *ledgerpb.UsageSampled) {
	if h == nil {
		return
	}
	step := ms / Step
	if step <= h.last {
		return
	}
	if coarse := step / perCoarse; coarse != h.last/perCoarse {
		h.close(coarse)
	}
	h.last = step
	if h.now[Cluster] == nil {
		h.now[Cluster] = &current{at: h.samples}
	}
	named := map[string]bool{}
	for _, r := range c.GetRows() {
		if !named[r.GetName()] {
			named[r.GetName()] = true
			h.set(step, r.GetName(), figuresOf(r.GetFigures()))
		}
	}
	if c.GetAll() {
		for name, s := range h.now {
			if !named[name] && s.Figures != (Figures{}) {
				h.set(step, name, Figures{})
			}
		}
	}
	h.fine.mark(step)
	h.samples++
}

func (h *History) set(step int64, name string, f Figures) {
	s := h.now[name]
	if s == nil {
		if f == (Figures{}) {
			return
		}
		if len(h.now) >= MaxSeries || len(name) > maxName {
			h.refused = true
			return
		}
		s = &current{at: h.samples}
		h.now[name] = s
	}
	s.settle(h.samples)
	s.Figures = f
	v := values{width - 1: 1}
	copy(v[:], f[:])
	if f == (Figures{}) {
		v = values{}
	}
	h.fine.of(name).put(step, &v)
}

// LastStep is that of the last sample, in Steps since 1970; 0: there was none.
func (h *History) LastStep() int64 {
	if h == nil {
		return 0
	}
	return h.last
}

// close ends the coarse step of the last sample, forgets what is too old, and continues with another step.
func (h *History) close(next int64) {
	step := h.last / perCoarse
	for name, s := range h.now {
		s.settle(h.samples)
		v := values{width - 1: h.samples}
		copy(v[:], s.sum[:])
		if s.sum == (Figures{}) && name != Cluster { // it has the numbers of samples
			v = values{}
		}
		if h.samples > 0 {
			h.coarse.of(name).put(step, &v)
		}
		if v == (values{}) && s.Figures == (Figures{}) {
			delete(h.now, name)
		}
		s.sum, s.at = Figures{}, 0
	}
	if h.samples > 0 {
		h.coarse.mark(step)
	}
	h.samples = 0
	h.fine.forget(next*perCoarse - h.fine.keep)
	h.coarse.forget(next - h.coarse.keep)
	h.bound(next)
}

// bound makes the history shorter if it is too large: first the fine one, down to an hour.
func (h *History) bound(next int64) {
	for len(h.fine.spans) > maxSpans {
		h.fine.forget(h.fine.spans[len(h.fine.spans)/8].from)
	}
	for len(h.coarse.spans) > maxSpans {
		h.coarse.forget(h.coarse.spans[len(h.coarse.spans)/8].from)
	}
	const hour = 3_600_000
	for h.fine.size()+h.coarse.size() > h.bytes {
		now := next * perCoarse
		left, kept := now-h.fine.oldest, next-h.coarse.oldest
		switch {
		case left > hour/Step:
			h.fine.forget(now - max(left*7/8, hour/Step))
		case kept > hour/CoarseStep:
			h.coarse.forget(next - max(kept*7/8, hour/CoarseStep))
		default:
			return // a few MB: MaxSeries bounds them
		}
	}
}

// Refused reports whether a series is not kept, as there are too many.
func (h *History) Refused() bool { return h != nil && h.refused }
