package usage

import (
	"cmp"
	"maps"
	"slices"
)

// span is a row of steps that were sampled, without gaps.
type span struct{ from, to int64 }

// tier is the history in steps of one length.
type tier struct {
	step  int64 // ms
	keep  int64 // steps, at most
	spans []span
	all   map[string]*series
	// oldest is the first step that is kept.
	oldest int64
}

func newTier(step, keep int64) tier { return tier{step: step, keep: keep, all: map[string]*series{}} }

// mark notes that a step was sampled.
func (t *tier) mark(step int64) {
	if n := len(t.spans); n > 0 && t.spans[n-1].to+1 == step {
		t.spans[n-1].to = step
		return
	}
	t.spans = append(t.spans, span{step, step})
}

// of returns a series, which may be a new one.
func (t *tier) of(name string) *series {
	s := t.all[name]
	if s == nil {
		s = &series{}
		t.all[name] = s
	}
	return s
}

// forget drops what is older than a step.
func (t *tier) forget(oldest int64) {
	t.oldest = max(t.oldest, oldest)
	t.spans = slices.DeleteFunc(t.spans, func(s span) bool { return s.to < t.oldest })
	if len(t.spans) > 0 {
		t.spans[0].from = max(t.spans[0].from, t.oldest)
	}
	maps.DeleteFunc(t.all, func(_ string, s *series) bool { return s.forget(t.oldest) })
}

func (t *tier) size() (n int) {
	for name, s := range t.all {
		n += s.size(name)
	}
	return n + 16*len(t.spans)
}

// steps are those from one to another, inclusive, that were sampled.
func (t *tier) steps(from, to int64) (out []int64) {
	at, _ := slices.BinarySearchFunc(t.spans, from, func(s span, from int64) int { return cmp.Compare(s.to, from) })
	for _, s := range t.spans[at:] {
		for step := max(s.from, from); step <= min(s.to, to); step++ {
			out = append(out, step)
		}
	}
	return out
}
