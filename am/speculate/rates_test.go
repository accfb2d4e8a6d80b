package speculate

import (
	"testing"
	"time"

	"heddle/am/stage"
)

// The table's rates are those of the latest epoch, and of what was run in it: earlier epochs and earlier pauses are over.
func TestRatesAreOfTheLatestEpoch(t *testing.T) {
	e := &ESplash{nodes: make([]performance, 1), classes: []int{1}, highest: 1, table: make([][stages]statistics, 2)}
	r := &stage.Round{Running: []stage.Running{{ID: id(0), Attempts: 1, Paused: time.Second}}}
	for _, progress := range []float64{0, 0.6, 0.7} {
		r.Running[0].Progress = progress
		e.measure(r)
		r.Now += epoch
	}
	for l := range e.table {
		if c := e.table[l][stage.Map]; !near(c.rate, 0.1/epoch.Seconds()) || c.rated != 1 {
			t.Errorf("level %d: %+v", l, c)
		}
	}
	r.Running[0].Paused, r.Running[0].Progress = 2*time.Second, 0.9
	e.measure(r)
	if c := e.table[1][stage.Map]; !near(c.rate, 0.2/(epoch-time.Second).Seconds()) {
		t.Errorf("it stood still for a second of %v: %+v", epoch, c)
	}
}

// Of two attempts at a task that run the one is followed that comes first, even if the other one was before.
func TestOneOfTwoAttemptsIsFollowed(t *testing.T) {
	e := &ESplash{nodes: make([]performance, 1), classes: []int{1}, highest: 1, table: make([][stages]statistics, 2)}
	again := id(0)
	again.Number = 1
	r := &stage.Round{Running: []stage.Running{{ID: id(0), Attempts: 1}}}
	e.measure(r)
	r.Running = []stage.Running{{ID: again, Attempts: 2}, {ID: id(0), Attempts: 2}}
	for range 2 {
		r.Now += epoch
		e.measure(r)
	}
	if !e.rated(again) || e.rated(id(0)) {
		t.Errorf("rated are the copy: %v, the original: %v", e.rated(again), e.rated(id(0)))
	}
}

// A task of which nobody knows what it takes adds nothing to its node's straggler value, nor does one that gets on as others do. One that has
// not moved is estimated for ever, even if no time has passed.
func TestDeficitOfTheUnknownAndTheHealthy(t *testing.T) {
	e, x := halfway()
	e.track(x.ID).rate = 0.05
	if got := e.deficit(8*time.Second, x, e.track(x.ID)); got != 0 {
		t.Errorf("a healthy one adds %v", got)
	}
	reduce := &stage.Running{ID: stage.AttemptID{TaskID: stage.TaskID{Stage: stage.Reduce}}, Attempts: 1}
	for l := range e.table {
		e.table[l][stage.Reduce] = statistics{mean: none, dev: none}
	}
	if got := e.deficit(8*time.Second, reduce, &track{rated: true}); got != 0 {
		t.Errorf("no reduce has ended or moved, and one adds %v", got)
	}
	if got := estimate(0, 0); got != forever {
		t.Errorf("estimated to take %v s", got)
	}
}

// A plan is made by the means of the classes, whatever was summed up before.
func TestMeansAreByLevel(t *testing.T) {
	e, x := halfway()
	e.judge(&stage.Round{Now: 12 * time.Second, Running: []stage.Running{*x}})
	for range 2 {
		if got := e.means(x); len(got) != len(e.table) || got[1] != 20 {
			t.Fatalf("%v", got)
		}
	}
	if class, straggles := e.Class(len(e.classes)); class != 0 || straggles {
		t.Errorf("a node that isn't known is of level %d, straggling: %v", class, straggles)
	}
}

// What is better divided isn't copied as well. Of equal cuts the first one is proposed.
func TestWhatIsDividedIsNotCopied(t *testing.T) {
	s, r := splitting(0.1, 1, 4, 30)
	copies, cuts := s.ESplash.Round(r), s.Split(r)
	if len(copies) != 1 || len(cuts) != 1 {
		t.Fatalf("alone it is copied: %+v, and divided: %+v", copies, cuts)
	}
	if got := s.Round(r); got != nil {
		t.Errorf("%+v as well", got)
	}
	r.Slots[0] = 2
	twin := r.Running[0]
	twin.ID = id(1)
	*s.track(twin.ID) = *s.track(id(0))
	r.Running = append(r.Running, twin)
	if got := s.Split(r); len(got) != 1 || got[0].Of != id(0) {
		t.Errorf("%+v", got)
	}
}

// A node that runs more than it was known to have room for takes no idle slot from others.
func TestIdleSlotsAreCountedByNode(t *testing.T) {
	s, r := splitting(0.1, 1, 4, 8)
	r.Slots = []int{1, 0, 4}
	r.Running = append(r.Running, stage.Running{ID: id(1), Node: 1, Attempts: 1}, stage.Running{ID: id(2), Node: 1, Attempts: 1})
	if got := s.free(r); got.slots != 4 || !near(got.pace, 1/20.) {
		t.Errorf("%+v", got)
	}
}

// A cut pays if it wins more than the start of the other tasks takes, even where that is more than a part of the mean.
func TestCutsOfShortTasks(t *testing.T) {
	s := &Split{}
	for n := range 2 {
		s.Ended(stage.Map, n, 10*time.Second)
	}
	now := 3 * time.Second
	s.Round(&stage.Round{Now: now, Slots: []int{1, 1}})
	for _, c := range []struct {
		progress float64
		cut      bool
	}{{0.3, true}, {0.39, true}, {0.41, false}} { // 5·(1 − progress) − 1 s are won
		*s.track(id(0)) = track{seen: true, progress: c.progress, rate: 0.1, rated: true, share: 1}
		r := &stage.Round{
			Now: now, Slots: []int{1, 1},
			Running: []stage.Running{{ID: id(0), Begun: now - time.Duration(c.progress*10*float64(time.Second)), Progress: c.progress, Attempts: 1}},
		}
		if cuts := s.Split(r); (len(cuts) > 0) != c.cut {
			t.Errorf("at %v: %+v", c.progress, cuts)
		}
	}
}
