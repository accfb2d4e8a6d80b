package sched_test

import (
	"math"
	"testing"
	"time"

	"heddle/am/sched"
)

// A run of a program is one job, which gets tasks as long as it lasts: their waits aren't its age.
func TestAnOldJobGetsClones(t *testing.T) {
	s := with(sched.Config{Ratio: 2, CloneBelow: 100 * time.Millisecond}, 10)
	id, _ := s.Submit(0, sched.Job{})
	for i := range 1000 {
		now := time.Duration(i) * time.Second
		s.Grow(now, id, 1, nil)
		if a := s.Ask(now+time.Millisecond, id, sched.Asking{Node: 1}); a.Kind != sched.Task || a.Waited != time.Millisecond {
			t.Fatalf("after %v a task that was submitted a millisecond ago: %+v", now, a)
		}
		if a := s.Ask(now+time.Millisecond, id, sched.Asking{Node: 2}); a.Kind != sched.Clone {
			t.Fatalf("after %v there is no clone on an idle node: %+v; the mean wait is %v", now, a, s.MeanWait())
		}
		s.Finished(id, int32(i), 1)
	}
}

// Quotes of long ago don't keep a job from clones.
func TestOldQuotesAreForgotten(t *testing.T) {
	s := with(sched.Config{Ratio: 2, CloneBelow: 100 * time.Millisecond}, 10)
	id, _ := s.Submit(0, sched.Job{Tasks: 1})
	for range 1000 {
		s.Quoted(id, 1, sched.Quote{P50: time.Second})
	}
	for range 1000 {
		s.Quoted(id, 1, sched.Quote{})
	}
	s.Ask(0, id, sched.Asking{Node: 1})
	if a := s.Ask(0, id, sched.Asking{Node: 2}); a.Kind != sched.Clone {
		t.Errorf("after a thousand quotes of 0: %+v", a)
	}
}

// With the longest bound clones don't depend on waits, as in Eirene's text.
func TestClonesWithoutABound(t *testing.T) {
	s := with(sched.Config{Ratio: 2, CloneBelow: math.MaxInt64}, 10)
	id, _ := s.Submit(0, sched.Job{Tasks: 1})
	s.Ask(1e6*time.Hour, id, sched.Asking{Node: 1})
	if a := s.Ask(1e6*time.Hour, id, sched.Asking{Node: 2}); a.Kind != sched.Clone {
		t.Errorf("%+v", a)
	}
}

// The age of tasks that wait is that of those which had no attempt yet.
func TestAgeOfTasksThatWait(t *testing.T) {
	s := with(sched.Config{Ratio: 2}, 10)
	id, _ := s.Submit(10*time.Second, sched.Job{Tasks: 2})
	s.Grow(20*time.Second, id, 2, nil)
	want := func(now, waited time.Duration) {
		t.Helper()
		if got := s.Waited(now, id); got != waited {
			t.Errorf("at %v: %v, not %v", now, got, waited)
		}
	}
	want(20*time.Second, 5*time.Second)
	if a := s.Ask(22*time.Second, id, sched.Asking{Node: 1}); a.Waited != 12*time.Second {
		t.Errorf("the first task: %+v", a)
	}
	want(32*time.Second, (22+12+12)*time.Second/3)
	s.Failed(id, 0, 1)
	want(32*time.Second, (22+12+12)*time.Second/3)
	if a := s.Ask(40*time.Second, id, sched.Asking{Node: 1}); a.Task != 0 || a.Waited != 0 {
		t.Errorf("a task that is repeated: %+v", a)
	}
	s.Finished(id, 1, -1) // it was given up
	want(32*time.Second, 12*time.Second)
	s.Finished(id, 2, -1)
	s.Finished(id, 3, -1)
	want(32*time.Second, 0)
	s.Forget(id)
	want(32*time.Second, 0)
	if id, _ = s.Submit(50*time.Second, sched.Job{Tasks: 1}); s.Waited(51*time.Second, id) != time.Second {
		t.Errorf("a later job in the same place: %v", s.Waited(51*time.Second, id))
	}
}
