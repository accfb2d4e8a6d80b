package usage

import (
	"iter"
	"maps"
	"slices"
)

// Point is what a series had in some time.
type Point struct {
	Time    int64 // its beginning, in ms since 1970
	Span    int64 // ms
	Samples int64 // so many samples were taken in this time
	Sum     Figures
}

// Mean is the mean of the samples.
func (p *Point) Mean(f Figure) float64 { return float64(p.Sum[f]) / float64(max(p.Samples, 1)) }

// Seconds is a figure multiplied by seconds, summed up over the samples: MB-seconds, vcore-seconds.
func (p *Point) Seconds(f Figure) int64 { return p.Sum[f] * (Step / 1000) }

// Series are the names of all series, sorted.
func (h *History) Series() []string {
	if h == nil {
		return nil
	}
	names := map[string]bool{}
	for _, m := range []map[string]*series{h.fine.all, h.coarse.all} {
		for name := range m {
			names[name] = true
		}
	}
	for name := range h.now {
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// View returns a copy of some series, which may be read while the history continues.
func (h *History) View(want func(name string) bool) *History {
	if h == nil {
		return nil
	}
	c := *h
	part := func(t *tier) tier {
		out := *t
		out.spans, out.all = slices.Clone(t.spans), map[string]*series{}
		for name, s := range t.all {
			if name == Cluster || want(name) {
				out.all[name] = &series{s.base, slices.Clone(s.chunks), s.end}
			}
		}
		return out
	}
	c.fine, c.coarse, c.now = part(&h.fine), part(&h.coarse), map[string]*current{}
	for name, s := range h.now {
		if name == Cluster || want(name) {
			d := *s
			c.now[name] = &d
		}
	}
	return &c
}

// Begins is when the first sample was taken that is still here in steps of 10 s, and in any steps, in ms since 1970; 0: there is none. Of coarse steps alone the beginning of the first one
// is known.
func (h *History) Begins() (fine, all int64) {
	if h == nil {
		return 0, 0
	}
	if len(h.fine.spans) > 0 {
		fine = h.fine.spans[0].from * Step
	}
	if all = fine; len(h.coarse.spans) > 0 && h.coarse.spans[0].from < fine/CoarseStep {
		all = h.coarse.spans[0].from * CoarseStep
	}
	return fine, all
}

// Read returns a series from one moment to another (ms since 1970) in parts of some ms, which is rounded up to whole steps: fine ones as far as they go back, else
// coarse ones. Parts begin at multiples of their length, those without any sample are left out, and the first and the last may lie only partly in that time.
func (h *History) Read(name string, from, to, part int64) iter.Seq[Point] {
	return func(yield func(Point) bool) {
		if h == nil || to <= from {
			return
		}
		t := &h.fine
		if from < h.fine.oldest*Step || part >= CoarseStep {
			t = &h.coarse
		}
		part = max((part+t.step-1)/t.step, 1) * t.step
		first := from / part * part
		var p Point
		more := true
		add := func(at, samples int64, f *Figures) {
			if begin := at / part * part; begin != p.Time || p.Samples == 0 {
				if p.Samples > 0 && more {
					more = yield(p)
				}
				p = Point{Time: begin, Span: part}
			}
			p.Samples += samples
			p.Sum.Add(f)
		}
		steps := t.steps(first/t.step, (to-1)/t.step)
		h.each(t, name, steps, add)
		if t == &h.coarse && h.samples > 0 && h.last*Step >= first && h.last/perCoarse*CoarseStep < to {
			c := current{}
			if now := h.now[name]; now != nil {
				c = *now
			}
			c.settle(h.samples)
			add(h.last/perCoarse*CoarseStep, h.samples, &c.sum)
		}
		if p.Samples > 0 && more {
			yield(p)
		}
	}
}

// each adds the steps of a tier. Of those at which a series had nothing the number of samples is that of the cluster.
func (h *History) each(t *tier, name string, steps []int64, add func(at, samples int64, f *Figures)) {
	samples := map[int64]int64{}
	if s := t.all[Cluster]; s != nil && t == &h.coarse {
		s.at(steps, func(step int64, v *values) { samples[step] = v[width-1] })
	}
	s := t.all[name]
	if s == nil {
		s = &series{}
	}
	s.at(steps, func(step int64, v *values) {
		n := max(v[width-1], samples[step], 1)
		add(step*t.step, n, (*Figures)(v[:figures]))
	})
}
