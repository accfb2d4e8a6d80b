package sched

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A node with room gets probes of the jobs that wait, those with the fewest tasks first, as many as have tasks and fit, and none of jobs that may not
// run there.
func TestSteal(t *testing.T) {
	s := New(Config{Ratio: 2}, rand.New(rand.NewPCG(1, 2)))
	s.SetNodes([]Node{0, 1}, nil)
	large, _ := s.Submit(0, Job{Tasks: 10})
	small, _ := s.Submit(0, Job{Tasks: 2})
	s.Submit(0, Job{Tasks: 1, Nodes: []Node{0}})
	s.Submit(0, Job{Tasks: 1, Where: [][]Node{{1}}})
	launched, _ := s.Submit(0, Job{Tasks: 1})
	s.Ask(0, launched, Asking{Node: 0})
	for range 2 { // nothing is left behind by the first time
		got := slices.Clone(s.Steal(1, 5))
		if want := []Probe{{small, 1}, {small, 1}, {large, 1}, {large, 1}, {large, 1}}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	if got := s.Steal(1, 100); len(got) != 12 {
		t.Errorf("%d probes for 12 tasks", len(got))
	}
	if got := s.Steal(1, 0); len(got) != 0 {
		t.Errorf("%v for no room", got)
	}
	before := s.find(small).unanswered
	if before != 4+2+2+2 { // its own, and what was stolen
		t.Errorf("%d probes are unanswered", before)
	}
	s.Answered(small, 1, false, Bitmap{})
	if after := s.find(small).unanswered; after != before-1 {
		t.Errorf("%d probes are unanswered after %d", after, before)
	}
}
