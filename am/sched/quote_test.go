package sched

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A node that expects a long wait loses its probes to others, as long as there are some, and as often as the job has probes.
func TestLongQuotesAreDeclined(t *testing.T) {
	s := New(Config{Ratio: 2, Sticky: true, Decline: time.Second}, rand.New(rand.NewPCG(1, 2)))
	s.SetNodes([]Node{0, 1, 2}, nil)
	id, to := s.Submit(0, Job{Tasks: 2})
	accept := func(to []Node) {
		for _, n := range to {
			s.Answered(id, n, true, Bitmap{})
		}
	}
	accept(to)
	if next, declined := s.Quoted(id, 0, Quote{P50: time.Second, P95: time.Minute}); declined || next != nil {
		t.Errorf("a quote within the bound is declined for %v", next)
	}
	declines := 0
	for range 20 {
		next, declined := s.Quoted(id, 0, Quote{P50: time.Minute})
		if !declined {
			continue
		}
		declines += len(next)
		if slices.Contains(next, 0) || len(next) == 0 || slices.Contains(s.Probed(id), 0) {
			t.Errorf("declined for %v, and probed are %v", next, s.Probed(id))
		}
		accept(next)
		s.Answered(id, 0, true, Bitmap{}) // somebody probes it again
		s.find(id).unanswered++
	}
	if declines == 0 || declines > 4 {
		t.Errorf("%d of 4 probes are declined", declines)
	}
	if next, declined := s.Quoted(77, 0, Quote{P50: time.Minute}); declined || next != nil {
		t.Error("a job that is unknown declines")
	}
	// The last probes that are out stay where they are.
	s.SetNodes([]Node{0}, nil)
	id, to = s.Submit(0, Job{Tasks: 1})
	accept(to)
	s.SetNodes([]Node{0, 1}, nil)
	if _, declined := s.Quoted(id, 0, Quote{P50: time.Minute}); declined {
		t.Error("the only probes are declined")
	}
}

// Nodes that expect waits have no time for clones, whatever the waits so far were.
func TestQuotesForbidClones(t *testing.T) {
	for quote, want := range map[time.Duration]Kind{0: Clone, time.Minute: None} {
		s := New(Config{Ratio: 2, CloneBelow: time.Second}, rand.New(rand.NewPCG(1, 2)))
		s.SetNodes([]Node{0, 1}, nil)
		id, to := s.Submit(0, Job{Tasks: 1})
		for _, n := range to {
			s.Answered(id, n, true, Bitmap{})
			s.Quoted(id, n, Quote{P50: quote})
		}
		if a := s.Ask(0, id, Asking{Node: 0}); a.Kind != Task {
			t.Errorf("%+v", a)
		}
		if a := s.Ask(0, id, Asking{Node: 1}); a.Kind != want {
			t.Errorf("with a quote of %v: %+v", quote, a)
		}
	}
}

// A node that will have an input in memory keeps its probes for up to twice the bound.
func TestQuotesOfMemoryAreTaken(t *testing.T) {
	for _, c := range []struct {
		quote Quote
		want  bool
	}{
		{Quote{P50: 2 * time.Second, Memory: true}, false},
		{Quote{P50: 2 * time.Second}, true},
		{Quote{P50: 2*time.Second + 1, Memory: true}, true},
	} {
		s := New(Config{Ratio: 2, Decline: time.Second}, rand.New(rand.NewPCG(1, 2)))
		s.SetNodes([]Node{0, 1, 2}, nil)
		id, to := s.Submit(0, Job{Tasks: 2})
		for _, n := range to {
			s.Answered(id, n, true, Bitmap{})
		}
		if _, declined := s.Quoted(id, 0, c.quote); declined != c.want {
			t.Errorf("%+v is declined: %t", c.quote, declined)
		}
	}
}
