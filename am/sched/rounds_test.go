package sched_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"heddle/am/sched"
)

// Probes go to nodes by chance: in the long run all nodes get some.
func TestNodesAreDrawnByChance(t *testing.T) {
	for _, repeat := range []bool{false, true} {
		s := with(sched.Config{Ratio: 2, Repeat: repeat}, 10)
		seen := map[sched.Node]int{}
		for range 200 {
			id, probes := s.Submit(0, sched.Job{Tasks: 1})
			for _, n := range probes {
				seen[n]++
			}
			s.Forget(id)
		}
		for n := range sched.Node(10) {
			if seen[n] < 10 || seen[n] > 80 {
				t.Errorf("with repetition %t: node %d is drawn %d times of 400", repeat, n, seen[n])
			}
		}
	}
}

// Nodes with long work get no probes, as long as there are others.
func TestKnownLongWorkIsAvoided(t *testing.T) {
	for _, repeat := range []bool{false, true} {
		s := with(sched.Config{Ratio: 2, Repeat: repeat}, 64)
		s.Learn(sched.Bitmap{Words: []uint64{^uint64(0b1010)}, At: 1})
		_, probes := s.Submit(0, sched.Job{Tasks: 10})
		if len(probes) != 20 {
			t.Errorf("with repetition %t: %d probes", repeat, len(probes))
		}
		for _, n := range probes {
			if n != 1 && n != 3 {
				t.Errorf("with repetition %t: node %d has long work and gets a probe", repeat, n)
			}
		}
		s.Learn(sched.Bitmap{Words: []uint64{^uint64(0)}, At: 2})
		if _, probes := s.Submit(0, sched.Job{Tasks: 10}); len(probes) != 20 {
			t.Errorf("with repetition %t: %d probes where all nodes have long work", repeat, len(probes))
		}
	}
}

// A cluster without nodes gets no probes.
func TestWithoutNodesNothingIsProbed(t *testing.T) {
	s := with(sched.Config{Ratio: 2}, 0)
	id, probes := s.Submit(0, sched.Job{Tasks: 3})
	if len(probes) != 0 {
		t.Errorf("%v", probes)
	}
	s.SetNodes(nodes(2), nil)
	if again := s.Reprobe(id); len(again) != 6 {
		t.Errorf("then there are two nodes: %v", again)
	}
}

// The numbers of jobs that are forgotten are used again, with another generation, and nothing is left of these jobs.
func TestForgottenJobsLeaveNothing(t *testing.T) {
	s := with(sched.Config{Ratio: 1}, 10)
	first, _ := s.Submit(0, sched.Job{Tasks: 9})
	s.Forget(first)
	s.Forget(first)
	if wait, open := s.Left(first); wait != 0 || open != 0 || s.Reprobe(first) != nil || s.Probed(first) != nil || s.Waits(first, 0) {
		t.Errorf("%d of %d tasks wait", wait, open)
	}
	if next, last := s.Answered(first, 0, false, sched.Bitmap{}); next != nil || last {
		t.Errorf("probes of a forgotten job: %v, %t", next, last)
	}
	second, _ := s.Submit(0, sched.Job{Tasks: 2})
	third, _ := s.Submit(0, sched.Job{Tasks: 3})
	if uint32(second) != uint32(first) || second == first || uint32(third) == uint32(second) {
		t.Errorf("ids %x, %x, %x", first, second, third)
	}
	if wait, open := s.Left(second); wait != 2 || open != 2 {
		t.Errorf("%d of %d tasks wait", wait, open)
	}
}

// answer answers probes in their order, and returns what the last answer leads to.
func answer(t *testing.T, s *sched.Scheduler, id sched.ID, probes []sched.Node, accepted bool, b sched.Bitmap) (next []sched.Node, last bool) {
	t.Helper()
	probes = slices.Clone(probes)
	for i, n := range probes {
		next, last = s.Answered(id, n, accepted, b)
		if i < len(probes)-1 && (next != nil || last) {
			t.Fatalf("after %d of %d answers: %v, %t", i+1, len(probes), next, last)
		}
	}
	return slices.Clone(next), last
}

// Each batch of probes has its own rounds, however those before ended.
func TestRoundsBeginAnew(t *testing.T) {
	s := sched.New(sched.Config{Ratio: 2, Rounds: 2}, rand.New(rand.NewPCG(1, 2)))
	s.SetNodes(nodes(64), []sched.Node{0, 1})
	id, probes := s.Submit(0, sched.Job{Tasks: 1})
	if next, last := answer(t, s, id, probes, true, sched.Bitmap{}); next != nil || last {
		t.Fatalf("all accept: %v, %t", next, last)
	}
	free := sched.Bitmap{Words: []uint64{^uint64(0b10000)}} // of the time 0, the first that the job hears of
	second, last := answer(t, s, id, s.Grow(0, id, 1, nil), false, free)
	if len(second) != 2 || last || second[0] != 4 || second[1] != 4 {
		t.Fatalf("the tasks that were added: %v, %t", second, last)
	}
	if third, last := answer(t, s, id, second, false, free); len(third) != 2 || !last {
		t.Errorf("then the short partition: %v, %t", third, last)
	}
}

// Where there is no short partition, rejected probes wait until others are sent in their place, once.
func TestRejectedProbesAreSentAgainOnce(t *testing.T) {
	s := with(sched.Config{Ratio: 2, Rounds: 1}, 8)
	id, probes := s.Submit(0, sched.Job{Tasks: 2})
	probes = slices.Clone(probes)
	s.Answered(id, probes[0], true, sched.Bitmap{})
	if next, last := answer(t, s, id, probes[1:], false, sched.Bitmap{}); next != nil || last {
		t.Fatalf("%v, %t", next, last)
	}
	if again := slices.Clone(s.Reprobe(id)); len(again) != 3 {
		t.Errorf("in place of three: %v", again)
	}
	if again := s.Reprobe(id); len(again) != 0 {
		t.Errorf("once more: %v", again)
	}
	for range 2 {
		s.Ask(0, id, sched.Asking{Node: 1})
	}
	if again := s.Reprobe(id); again != nil {
		t.Errorf("when no task waits: %v", again)
	}
}

// Tasks with nodes of their own get new probes there, those that wait alone.
func TestTasksWithNodesAreProbedThereAgain(t *testing.T) {
	s := with(sched.Config{Ratio: 2}, 50)
	id, probes := s.Submit(0, sched.Job{Tasks: 3, Where: [][]sched.Node{{1, 2}, {3, 4}, {5, 6}}})
	answer(t, s, id, probes, false, sched.Bitmap{})
	if a := s.Ask(0, id, sched.Asking{Node: 3}); a.Kind != sched.Task || a.Task != 1 {
		t.Fatalf("%+v", a)
	}
	for range 2 {
		again := slices.Clone(s.Reprobe(id))
		if slices.Sort(again); !slices.Equal(again, []sched.Node{1, 2, 5, 6}) {
			t.Errorf("%v", again)
		}
	}
}

// Nodes that are lost cost a job no new probes if none of its tasks waits.
func TestLostNodesOfAJobThatIsLaunched(t *testing.T) {
	s := with(sched.Config{Ratio: 2, Sticky: true}, 8)
	id, probes := s.Submit(0, sched.Job{Tasks: 1})
	probes = slices.Clone(probes)
	answer(t, s, id, probes, true, sched.Bitmap{})
	s.Ask(0, id, sched.Asking{Node: probes[0]})
	if again := s.Lost(probes[1]); len(again) != 0 {
		t.Errorf("%v", again)
	}
	if again := s.Lost(probes[0]); len(again) != 3 { // two for the task that ran there, one for the probe
		t.Errorf("%v", again)
	}
}

// The first task counts among those that are staged, and one behind the last doesn't.
func TestTheFirstTaskMayBeStaged(t *testing.T) {
	s := with(sched.Config{Ratio: 2}, 10)
	id, _ := s.Submit(0, sched.Job{Tasks: 2})
	s.Failed(id, 0, 1)
	if a := s.Ask(0, id, sched.Asking{Staged: []int32{2, 1}}); a.Task != 1 {
		t.Errorf("%+v", a)
	}
	id, _ = s.Submit(0, sched.Job{Tasks: 2})
	s.Ask(0, id, sched.Asking{Node: 1})
	s.Ask(0, id, sched.Asking{Node: 2})
	s.Failed(id, 0, 1)
	s.Failed(id, 1, 2) // which would be the next one
	if a := s.Ask(0, id, sched.Asking{Node: 3, Staged: []int32{0}}); a.Task != 0 {
		t.Errorf("a staged task that failed: %+v", a)
	}
}
