package speculate

import (
	"math"
	"testing"
	"time"

	"heddle/am/stage"
)

// classified are nodes whose classes somebody else has decided.
type classified struct {
	simulated
	classes []int
}

// pass lets nodes work, and a Speculator look each second.
func (s *classified) pass(p stage.Speculator, seconds int) {
	for range seconds {
		s.now += time.Second
		for n := range s.tasks {
			x := &s.tasks[n]
			if x.Progress += s.speed[n] / 200; x.Progress >= 1 {
				p.Ended(stage.Map, n, s.now-x.Begun)
				*x = stage.Running{ID: id(s.next), Node: n, Begun: s.now, Attempts: 1}
				s.next++
			}
		}
		slots := make([]int, len(s.speed))
		for i := range slots {
			slots[i] = 1
		}
		s.said = append(s.said, p.Round(&stage.Round{Now: s.now, Running: s.tasks, Slots: slots, Classes: s.classes})...)
	}
}

// A node was ill in an earlier job, and is the only one of its class for that. In the next job it is as quick as others at first, and then ten times slower. It
// straggles within two epochs: its class is itself, so that a comparison with it finds nothing wrong, and nobody had helped. It recovers in as many.
func TestNodeThatWasIllBeforeStragglesAgain(t *testing.T) {
	for name, slow := range map[string]float64{"slow": .1, "stuck": 0} {
		e := &ESplash{}
		s := &classified{*simulate(1, 1, 1), []int{2, 2, 1}}
		s.pass(e, int(6*epoch/time.Second)+1)
		if _, straggles := e.Class(2); straggles || len(s.said) > 0 {
			t.Fatalf("%s: it straggles while it is well: %+v", name, s.said)
		}
		s.speed[2] = slow
		s.pass(e, int(2*epoch/time.Second))
		if _, straggles := e.Class(2); !straggles {
			t.Errorf("%s: it doesn't straggle: %+v", name, e.nodes[2])
		}
		e.Ended(stage.Map, 0, 200*time.Second)
		s.pass(e, 1)
		if len(s.said) == 0 || s.said[0].Of != s.tasks[2].ID {
			t.Errorf("%s: %+v instead of a copy of its task", name, s.said)
		}
		s.speed[2] = 1
		s.tasks[2] = stage.Running{ID: id(99), Node: 2, Begun: s.now, Attempts: 1} // its copy was faster
		s.pass(e, int(6*epoch/time.Second))
		if _, straggles := e.Class(2); straggles {
			t.Errorf("%s: it still straggles when it is well again: %+v", name, e.nodes[2])
		}
	}
}

// What is slow everywhere is no fault of a node that is alone in its class, and neither is what it has always been.
func TestNodeThatIsAloneIsNoStragglerForThat(t *testing.T) {
	e := &ESplash{}
	s := &classified{*simulate(1, 1, .1), []int{2, 2, 1}}
	s.pass(e, 60)
	for i := range s.speed {
		s.speed[i] /= 3
	}
	s.pass(e, 60)
	if _, straggles := e.Class(2); straggles || len(s.said) > 0 {
		t.Errorf("%+v, %+v", s.said, e.nodes[2])
	}
}

// The terms of a node that is alone, by hand. Its class's tasks get on at its own pace of 0.5 of class 2's, and have got on by 0.02 a second.
func TestDeficitOfOneThatIsAlone(t *testing.T) {
	e := &ESplash{nodes: make([]performance, 1), classes: []int{1}, highest: 2, table: make([][stages]statistics, 3)}
	for l := range e.table {
		e.table[l][stage.Map] = statistics{mean: none, dev: none}
	}
	e.table[2][stage.Map] = statistics{mean: 20, dev: 2, rate: .04, rated: 2, nodes: 2}
	e.nodes[0].pace[stage.Map] = pace{2, .5}
	x := &stage.Running{ID: id(0), Progress: .5, Attempts: 1}
	for rate, want := range map[float64]float64{.02: 0, .01: 1 + 1, .005: 3 + 3, 0: 4 + 4} {
		if got := e.deficit(20*time.Second, x, &track{rated: true, rate: rate, own: .02}); math.Abs(got-want) > 1e-9 {
			t.Errorf("at %g a second it adds %v, not %v", rate, got, want)
		}
	}
	if got := e.deficit(22*time.Second, x, &track{rated: true, rate: .02, own: .02}); math.Abs(got-1) > 1e-9 { // expected to take 44 s, and class 2's pace gives 40 ± 4
		t.Errorf("it adds %v for what it has lost before", got)
	}
	e.table[2][stage.Map].nodes = 1 // which is no reference either
	if got := e.deficit(20*time.Second, x, &track{rated: true, rate: .01, own: .02}); math.Abs(got-1) > 1e-9 {
		t.Errorf("by its own pace it adds %v", got)
	}
}

// Hadoop copies nothing before a twentieth of a stage's tasks are done.
func TestLateWaitsForATwentieth(t *testing.T) {
	for waiting, want := range map[int]int{18: 1, 19: 0} {
		l := &Late{}
		l.Ended(stage.Map, 0, 10*time.Second)
		r := &stage.Round{Now: time.Minute, Running: []stage.Running{{ID: id(0), Attempts: 1}}, Waiting: [2]int{waiting, 0}}
		if got := l.Round(r); len(got) != want {
			t.Errorf("one of %d is done: %+v", waiting+2, got)
		}
	}
}
