package sched_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"heddle/am/sched"
)

// accept has nodes accept the probes of a job.
func accept(s *sched.Scheduler, id sched.ID, to []sched.Node) {
	for _, n := range slices.Clone(to) {
		s.Answered(id, n, true, sched.Bitmap{})
	}
}

func starving(s *sched.Scheduler) (n int) {
	s.Starving(func(sched.ID) { n++ })
	return n
}

// What ran on a node that is lost waits again, and its probes go elsewhere.
func TestLostNode(t *testing.T) {
	s := with(sched.Config{Ratio: 2}, 3)
	id, _ := s.Submit(0, sched.Job{Tasks: 4, Placed: true})
	other, _ := s.Submit(0, sched.Job{Tasks: 1, Placed: true})
	for _, n := range []sched.Node{0, 0, 1, 2} {
		s.Answered(id, n, true, sched.Bitmap{})
	}
	s.Answered(other, 2, true, sched.Bitmap{})
	s.Ask(0, id, sched.Asking{Node: 0})
	s.Ask(0, id, sched.Asking{Node: 1})
	s.SetNodes([]sched.Node{1, 2}, nil)
	probes := slices.Clone(s.Lost(0))
	// Two probes for the task that ran there, and two for those that were there.
	if len(probes) != 4 {
		t.Fatalf("%d probes go out: %v", len(probes), probes)
	}
	for _, p := range probes {
		if p.Job != id || p.Node == 0 {
			t.Errorf("a probe of job %d goes to node %d", p.Job, p.Node)
		}
		s.Answered(p.Job, p.Node, true, sched.Bitmap{})
	}
	if wait, open := s.Left(id); wait != 3 || open != 4 || !s.Waits(id, 0) || s.Waits(id, 1) {
		t.Errorf("%d wait, %d are open", wait, open)
	}
	if got := s.Probed(id); slices.Contains(got, 0) || len(got) != 6 {
		t.Errorf("probes are at %v", got)
	}
	if again := s.Lost(0); len(again) != 0 {
		t.Errorf("lost twice: %v", again)
	}
	if a := s.Ask(0, id, sched.Asking{Node: 2}); a.Task != 0 {
		t.Errorf("what was lost goes first: %+v", a)
	}
}

// The tasks that may run on a lost node only have their probes replaced, those that run elsewhere don't.
func TestLostNodeOfConstrainedTasks(t *testing.T) {
	s := with(sched.Config{Ratio: 1}, 5)
	id, probes := s.Submit(0, sched.Job{Tasks: 3, Where: [][]sched.Node{{1}, {2}, nil}})
	accept(s, id, probes)
	s.Ask(0, id, sched.Asking{Node: 2})
	got := s.Lost(1)
	if len(got) != 1 || got[0].Node != 1 {
		t.Errorf("probes go to %v", got)
	}
}

// Each use of an attempt that isn't known is without effect.
func TestUnknownAttempts(t *testing.T) {
	s := with(sched.Config{Ratio: 2}, 5)
	if s.Grow(0, 5, 1, nil) != nil || s.Reprobe(5) != nil || s.Probed(5) != nil || s.Failed(5, 0, 0) != nil || s.Waits(5, 0) {
		t.Error("a job that isn't known has probes")
	}
	id, _ := s.Submit(0, sched.Job{Tasks: 1})
	for _, task := range []int32{-1, 1, 2} {
		if r := s.Finished(id, task, 0); r != (sched.Result{}) || s.Failed(id, task, 0) != nil || s.Waits(id, task) {
			t.Errorf("task %d: %+v", task, r)
		}
	}
	s.Ask(0, id, sched.Asking{Node: 1})
	if s.Failed(id, 0, 2) != nil || s.Waits(id, 0) {
		t.Error("a task fails where it doesn't run")
	}
	if probes := s.Failed(id, 0, 1); len(probes) != 2 || !s.Waits(id, 0) {
		t.Errorf("a failed task has probes at %v", probes)
	}
	// It is late, but it has ended.
	if r := s.Finished(id, 0, 1); r != (sched.Result{First: true, Done: true}) {
		t.Errorf("%+v", r)
	}
	if wait, open := s.Left(id); wait != 0 || open != 0 || starving(s) != 0 {
		t.Errorf("%d wait, %d are open", wait, open)
	}
	s.Forget(id)
	s.Forget(id)
	a, _ := s.Submit(0, sched.Job{Tasks: 1})
	b, _ := s.Submit(0, sched.Job{Tasks: 1})
	if a == b || a == id {
		t.Errorf("jobs %d and %d after %d", a, b, id)
	}
	if r := s.Finished(id, 0, 1); r.First {
		t.Error("a result for a job that was forgotten counts for its successor")
	}
}

func TestJobsGrow(t *testing.T) {
	s := with(sched.Config{Ratio: 2, Least: 7}, 50)
	id, probes := s.Submit(0, sched.Job{Tasks: 1})
	if len(probes) != 7 {
		t.Errorf("%d probes", len(probes))
	}
	if more := s.Grow(0, id, 2, nil); len(more) != 4 {
		t.Errorf("%d probes for two more tasks", len(more))
	}
	if more := s.Grow(0, id, 2, [][]sched.Node{{3}}); len(more) != 4 || more[0] != 3 || more[1] != 3 {
		t.Errorf("tasks that come later probe %v", more)
	}
	var tasks []int32
	for range 6 {
		if a := s.Ask(0, id, sched.Asking{Node: 3}); a.Kind == sched.Task {
			tasks = append(tasks, a.Task)
		}
	}
	if slices.Sort(tasks); !slices.Equal(tasks, []int32{0, 1, 2, 3, 4}) {
		t.Errorf("tasks %v", tasks)
	}
	if s.Grow(0, id, 0, nil) != nil {
		t.Error("no task has probes")
	}
}

// With repetition the draws avoid long work, too; where nearly everybody has some, and where everybody has.
func TestDrawsAvoidLongWork(t *testing.T) {
	for _, repeat := range []bool{true, false} {
		for _, free := range []int{60, 3, 1, 0} {
			s := sched.New(sched.Config{Ratio: 2, Repeat: repeat}, rand.New(rand.NewPCG(3, 4)))
			s.SetNodes(nodes(128), nil)
			words := []uint64{^uint64(0), ^uint64(0)}
			for n := range free {
				words[(n+33)/64] &^= 1 << ((n + 33) % 64)
			}
			s.Learn(sched.Bitmap{Words: []uint64{0, 0}, At: 5})
			s.Learn(sched.Bitmap{Words: words, At: 9})
			s.Learn(sched.Bitmap{Words: []uint64{0, 0}, At: 7})
			_, probes := s.Submit(0, sched.Job{Tasks: 40})
			seen := map[sched.Node]bool{}
			for _, n := range probes {
				if seen[n] = true; free > 0 && (n < 33 || int(n) >= 33+free) {
					t.Fatalf("node %d is probed, and %d are free of long work", n, free)
				}
			}
			if len(probes) != 80 || free == 3 && len(seen) != 3 || free == 0 && len(seen) < 30 {
				t.Errorf("%d free: %d probes at %d nodes", free, len(probes), len(seen))
			}
		}
	}
	s := with(sched.Config{Ratio: 2, Repeat: true}, 4)
	count := map[sched.Node]int{}
	_, probes := s.Submit(0, sched.Job{Tasks: 2000})
	for _, n := range probes {
		count[n]++
	}
	for n, k := range count {
		if k < 850 || k > 1150 || len(count) != 4 {
			t.Errorf("node %d has %d of 4000 probes", n, k)
		}
	}
	if (sched.Bitmap{Words: []uint64{1}}).Has(64) {
		t.Error("a node beyond the bitmap has long work")
	}
}

func TestMeanWait(t *testing.T) {
	s := with(sched.Config{Ratio: 1}, 5)
	id, _ := s.Submit(time.Second, sched.Job{Tasks: 2})
	s.Ask(65*time.Second, id, sched.Asking{})
	if got := s.MeanWait(); got != time.Second {
		t.Errorf("%v", got)
	}
	s.Ask(66*time.Second, id, sched.Asking{})
	if got := s.MeanWait(); got != 2*time.Second {
		t.Errorf("%v", got)
	}
}

// A clone that fails is replaced; one of a task that may not run on a node isn't made there.
func TestFailedClones(t *testing.T) {
	s := with(sched.Config{Ratio: 2, CloneBelow: time.Second}, 10)
	id, _ := s.Submit(0, sched.Job{Tasks: 2, Nodes: []sched.Node{1, 2, 3, 4}})
	alone, _ := s.Submit(0, sched.Job{Tasks: 1, Alone: true})
	s.Ask(0, id, sched.Asking{Node: 1})
	s.Ask(0, id, sched.Asking{Node: 2})
	s.Ask(0, alone, sched.Asking{Node: 1})
	if a := s.Ask(0, alone, sched.Asking{Node: 2}); a.Kind != sched.None {
		t.Errorf("a job that forbids clones: %+v", a)
	}
	if a := s.Ask(0, id, sched.Asking{Node: 9}); a.Kind != sched.None {
		t.Errorf("a node where it may not run: %+v", a)
	}
	if a := s.Ask(0, id, sched.Asking{Node: 3, Staged: []int32{1}}); a.Kind != sched.Clone || a.Task != 1 {
		t.Errorf("a node with the input of task 1: %+v", a)
	}
	if s.Failed(id, 1, 3) != nil {
		t.Error("a clone has probes")
	}
	if a := s.Ask(0, id, sched.Asking{Node: 4, Staged: []int32{0}}); a.Kind != sched.Clone || a.Task != 0 {
		t.Errorf("a node with the input of task 0: %+v", a)
	}
	if a := s.Ask(0, id, sched.Asking{Node: 4}); a.Kind != sched.Clone || a.Task != 1 {
		t.Errorf("after its clone failed: %+v", a)
	}
	// Its first attempt fails: the clone goes on, and may have a clone itself.
	s.Failed(id, 0, 1)
	if a := s.Ask(0, id, sched.Asking{Node: 3}); a.Kind != sched.Clone || a.Task != 0 {
		t.Errorf("after the first attempt failed: %+v", a)
	}
}

// A job that is forgotten gives nothing, though tasks of it wait; its place is used again.
func TestForgottenJobs(t *testing.T) {
	s := with(sched.Config{Ratio: 2, Sticky: true}, 5)
	id, probes := s.Submit(0, sched.Job{Tasks: 3, Where: [][]sched.Node{{1}, {2}, {3}}})
	accept(s, id, probes)
	s.Forget(id)
	if a := s.Ask(0, id, sched.Asking{Node: 1}); a != (sched.Answer{}) || starving(s) != 0 {
		t.Errorf("%+v", a)
	}
	next, _ := s.Submit(0, sched.Job{Tasks: 1})
	if uint32(next) != uint32(id) || next == id {
		t.Errorf("job %x after %x", next, id)
	}
	if a := s.Ask(0, next, sched.Asking{Node: 4}); a.Kind != sched.Task {
		t.Errorf("%+v", a)
	}
}

// With sticky probes a job isn't starving while a node runs its tasks; without, it is when all probes were used.
func TestStarvingWithStickyProbes(t *testing.T) {
	for _, sticky := range []bool{true, false} {
		s := with(sched.Config{Ratio: 1, Sticky: sticky}, 5)
		id, _ := s.Submit(0, sched.Job{Tasks: 2, Placed: true})
		if probes := s.Reprobe(id); len(probes) != 2 {
			t.Fatalf("%d probes", len(probes))
		}
		s.Answered(id, 1, true, sched.Bitmap{})
		s.Answered(id, 2, false, sched.Bitmap{})
		s.Ask(0, id, sched.Asking{Node: 1})
		if got := starving(s) > 0; got == sticky {
			t.Errorf("sticky: %v, starving: %v", sticky, got)
		}
		if probes := s.Reprobe(id); len(probes) != 1 {
			t.Errorf("%d probes for the task that waits", len(probes))
		}
	}
}

// Nodes that hear that no task waits drop their probes. If a task fails after that and nobody accepts its probes, the job is starving.
func TestStarvingAfterProbesWereDropped(t *testing.T) {
	for _, sticky := range []bool{true, false} {
		s := with(sched.Config{Ratio: 2, Sticky: sticky}, 5)
		id, probes := s.Submit(0, sched.Job{Tasks: 1})
		accept(s, id, probes)
		at := probes[0]
		if a := s.Ask(0, id, sched.Asking{Node: at}); a.Kind != sched.Task || a.Left != 0 {
			t.Fatalf("%+v", a)
		}
		for _, n := range slices.Clone(s.Failed(id, 0, at)) {
			s.Answered(id, n, false, sched.Bitmap{})
		}
		if starving(s) != 1 || len(s.Reprobe(id)) != 2 {
			t.Errorf("sticky: %v: nobody knows that the task needs probes", sticky)
		}
	}
}

// What is done gets no clone, nor does what its own node runs already.
func TestOnlyWhatRunsIsCloned(t *testing.T) {
	s := with(sched.Config{Ratio: 2, CloneBelow: time.Second}, 3)
	id, _ := s.Submit(0, sched.Job{Tasks: 3})
	for n := range sched.Node(3) {
		s.Ask(0, id, sched.Asking{Node: n})
	}
	s.Finished(id, 1, 1)
	if a := s.Ask(0, id, sched.Asking{Node: 0, Staged: []int32{0, 1}}); a.Kind != sched.Clone || a.Task != 2 {
		t.Errorf("node 0 gets %+v", a)
	}
	if a := s.Ask(0, id, sched.Asking{Node: 0}); a.Kind != sched.None {
		t.Errorf("node 0 gets another: %+v", a)
	}
}

// A job whose probes a node has given back is starving, unless other nodes have some.
func TestProbesThatWereGivenBack(t *testing.T) {
	s := with(sched.Config{Ratio: 2}, 2)
	id, to := s.Submit(0, sched.Job{Tasks: 2})
	for _, n := range to {
		s.Answered(id, n, true, sched.Bitmap{})
	}
	starving := func() (n int) {
		s.Starving(func(sched.ID) { n++ })
		return n
	}
	s.GaveBack(id, 0, 1)
	if at := s.Probed(id); len(at) != 3 {
		t.Errorf("one of four was given back: %v", at)
	}
	s.GaveBack(id, 0, 5) // it had two
	s.GaveBack(id+1, 0, 5)
	if n := starving(); n != 0 || len(s.Probed(id)) != 2 {
		t.Errorf("%d jobs are starving, probes are at %v", n, s.Probed(id))
	}
	s.GaveBack(id, 1, 2)
	s.Starving(func(which sched.ID) {
		if which != id {
			t.Errorf("job %d is starving, not %d", which, id)
		}
	})
	if n := starving(); n != 1 || len(s.Reprobe(id)) != 4 {
		t.Errorf("%d jobs are starving", n)
	}
}
