package speculate

import (
	"testing"
	"time"

	"heddle/am/stage"
)

// slow has a round of tasks that are slower and slower, of which one has a copy already. Tasks of their kind take 10 s.
func slow(s stage.Speculator) *stage.Round {
	for range 9 {
		s.Ended(stage.Map, 1, 10*time.Second)
	}
	r := &stage.Round{Now: 20 * time.Second, Slots: []int{8, 8}, Classes: []int{1, 1}}
	for i := range 6 {
		r.Running = append(r.Running, stage.Running{ID: id(i), Attempts: 1, Progress: .3 - .04*float64(i), Share: 1})
	}
	copied := r.Running[0]
	copied.ID.Number, copied.Node = 1, 1
	r.Running[0].Attempts, copied.Attempts = 2, 2
	r.Running = append(r.Running, copied)
	return r
}

// Hadoop makes one copy in 15 s. With containers for copies there are as many as these, at once, those first that win most.
func TestLateUsesContainersForCopies(t *testing.T) {
	l := &Late{}
	r := slow(l)
	if got := l.Round(r); len(got) != 1 || got[0].Of != id(5) {
		t.Fatalf("best effort: %+v", got)
	}
	if got := l.Round(r); got != nil {
		t.Errorf("best effort, again at once: %+v", got)
	}
	r.Copies = 4
	if got := l.Round(r); len(got) != 3 || got[0].Of != id(5) || got[1].Of != id(4) || got[2].Of != id(3) {
		t.Errorf("with 4 containers, of which one is in use: %+v", got)
	}
	r.Copies = 1
	if got := l.Round(r); got != nil {
		t.Errorf("with one container, which is in use: %+v", got)
	}
}

func TestESplashUsesContainersForCopies(t *testing.T) {
	e := &ESplash{}
	r := slow(e)
	r.Now = 0
	e.Round(r)
	for range 9 {
		r.Now += epoch
		e.Round(r) // nothing gets on
	}
	if !e.straggles(0) {
		t.Fatal("the node is taken for a healthy one")
	}
	if got := e.Round(r); len(got) != 1 {
		t.Errorf("best effort: %+v", got)
	}
	r.Copies = 4
	if got := e.Round(r); len(got) != 3 {
		t.Errorf("with 4 containers, of which one is in use: %+v", got)
	}
}
