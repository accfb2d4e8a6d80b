package sched_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"heddle/am/sched"
)

func starves(s *sched.Scheduler, id sched.ID) (is bool) {
	s.Starving(func(x sched.ID) { is = is || x == id })
	return is
}

// With repetition a node may get two probes of a job before another one gets any.
func TestDrawsWithRepetition(t *testing.T) {
	for _, long := range []uint64{0, 0x3ff << 10} {
		s := with(sched.Config{Ratio: 1, Repeat: true}, 20)
		s.Learn(sched.Bitmap{Words: []uint64{long}, At: 1})
		_, to := s.Submit(0, sched.Job{Tasks: 10})
		distinct := slices.Clone(to)
		slices.Sort(distinct)
		if distinct = slices.Compact(distinct); len(to) != 10 || len(distinct) == 10 {
			t.Errorf("%d probes go to %d nodes", len(to), len(distinct))
		}
		if long != 0 && slices.Max(to) >= 10 {
			t.Errorf("%v have long work", to)
		}
	}
}

// One task that waits is enough for another round, and with none the rejected probes are dropped.
func TestAnotherRoundForTheLastTask(t *testing.T) {
	for launched, want := range []int{1, 0} {
		s := with(sched.Config{Ratio: 2, Rounds: 3}, 10)
		id, to := s.Submit(0, sched.Job{Tasks: 1})
		answer(t, s, id, to[:1], true, sched.Bitmap{})
		for range launched {
			s.Ask(0, id, sched.Asking{Node: to[0]})
		}
		if next, last := answer(t, s, id, to[1:], false, sched.Bitmap{}); len(next) != want || last {
			t.Errorf("%d are launched: the probe goes to %v, for the last time: %t", launched, next, last)
		}
	}
}

// A batch whose second round was accepted whole doesn't shorten the next one.
func TestRoundsEndWithTheirBatch(t *testing.T) {
	s := sched.New(sched.Config{Ratio: 1, Rounds: 2}, rand.New(rand.NewPCG(1, 2)))
	s.SetNodes(nodes(10), []sched.Node{0})
	id, to := s.Submit(0, sched.Job{Tasks: 3})
	second, _ := answer(t, s, id, to, false, sched.Bitmap{})
	answer(t, s, id, second, true, sched.Bitmap{})
	if next, last := answer(t, s, id, s.Grow(0, id, 2, nil), false, sched.Bitmap{}); len(next) != 2 || last {
		t.Errorf("rejected probes go to %v, for the last time: %t", next, last)
	}
}

// Where nodes don't reject for long work, nothing goes to the short partition.
func TestRejectionsWithoutRounds(t *testing.T) {
	s := sched.New(sched.Config{Ratio: 2}, rand.New(rand.NewPCG(1, 2)))
	s.SetNodes(nodes(10), []sched.Node{0})
	id, to := s.Submit(0, sched.Job{Tasks: 2})
	if next, last := answer(t, s, id, to, false, sched.Bitmap{}); next != nil || last || !starves(s, id) {
		t.Errorf("rejected probes go to %v, for the last time: %t", next, last)
	}
}

// Of jobs with as many tasks left the first one is stolen from.
func TestStealFromTheFirst(t *testing.T) {
	s := with(sched.Config{Ratio: 1}, 3)
	first, _ := s.Submit(0, sched.Job{Tasks: 2})
	s.Submit(0, sched.Job{Tasks: 2})
	if got := s.Steal(1, 1); !slices.Equal(got, []sched.Probe{{Job: first, Node: 1}}) {
		t.Errorf("stolen: %v", got)
	}
}

// A node that may run none of the tasks which wait has used its probe.
func TestAnswersWithoutATaskUseProbes(t *testing.T) {
	s := with(sched.Config{Ratio: 1, Sticky: true}, 3)
	id, to := s.Submit(0, sched.Job{Tasks: 2, Where: [][]sched.Node{{1}, {2}}})
	answer(t, s, id, to, true, sched.Bitmap{})
	for i, want := range []sched.Kind{sched.Task, sched.None} {
		if a := s.Ask(0, id, sched.Asking{Node: 1}); a.Kind != want || a.Left != 1 {
			t.Errorf("ask %d: %+v", i, a)
		}
	}
	if starves(s, id) {
		t.Error("it starves with a probe at node 2")
	}
	s.GaveBack(id, 2, 1)
	if !starves(s, id) {
		t.Error("it doesn't starve without a probe")
	}
}

// When the last node is lost, its jobs starve. Those that are forgotten don't, and get no probes.
func TestLastNodeIsLost(t *testing.T) {
	s := with(sched.Config{Ratio: 2}, 1)
	id, to := s.Submit(0, sched.Job{Tasks: 1})
	answer(t, s, id, to, true, sched.Bitmap{})
	gone, to := s.Submit(0, sched.Job{Tasks: 1})
	answer(t, s, gone, to, true, sched.Bitmap{})
	s.Ask(0, gone, sched.Asking{})
	s.Forget(gone)
	s.SetNodes(nil, nil)
	if got := s.Lost(0); len(got) != 0 || !starves(s, id) || starves(s, gone) {
		t.Errorf("probes: %v; the jobs starve: %t, %t", got, starves(s, id), starves(s, gone))
	}
	id, _ = s.Submit(0, sched.Job{Tasks: 1})
	s.Ask(0, id, sched.Asking{Node: 5})
	s.Forget(id)
	s.SetNodes(nodes(3), nil)
	if got := s.Lost(5); slices.ContainsFunc(got, func(p sched.Probe) bool { return p.Job == id }) {
		t.Errorf("a job that is forgotten gets probes: %v", got)
	}
}

// Of tasks that could run on a lost node those that are done get no probes.
func TestLostNodeOfTasksThatAreDone(t *testing.T) {
	s := with(sched.Config{Ratio: 1}, 3)
	id, _ := s.Submit(0, sched.Job{Tasks: 2, Where: [][]sched.Node{{0, 1}, {2}}})
	s.Ask(0, id, sched.Asking{Node: 1})
	s.Finished(id, 0, 1)
	s.SetNodes([]sched.Node{1, 2}, nil)
	if got := s.Lost(0); len(got) != 0 {
		t.Errorf("probes: %v", got)
	}
}

// Clones depend on the mean of the quotes, not on one of them.
func TestMeanOfQuotes(t *testing.T) {
	for long, want := range map[time.Duration]sched.Kind{5 * time.Second: sched.Clone, 7 * time.Second: sched.None} {
		s := with(sched.Config{Ratio: 3, CloneBelow: 2 * time.Second}, 3)
		id, _ := s.Submit(0, sched.Job{Tasks: 1})
		for n, q := range []time.Duration{0, long, 0} {
			s.Quoted(id, sched.Node(n), sched.Quote{P50: q})
		}
		s.Ask(0, id, sched.Asking{Node: 0})
		if a := s.Ask(0, id, sched.Asking{Node: 1}); a.Kind != want {
			t.Errorf("with a quote of %v among three: %+v", long, a)
		}
	}
}

// Long quotes are declined as long as one task waits. They aren't where no bound is set, where tasks have nodes of their own, where nothing waits, or
// where there is no other node.
func TestQuotesThatAreNotDeclined(t *testing.T) {
	declines := sched.Config{Ratio: 2, Decline: time.Second}
	for name, c := range map[string]struct {
		cfg    sched.Config
		job    sched.Job
		launch int
		up     int
		want   bool
	}{
		"one task waits":               {declines, sched.Job{Tasks: 2}, 1, 4, true},
		"no bound":                     {sched.Config{Ratio: 2}, sched.Job{Tasks: 2}, 1, 4, false},
		"tasks with nodes":             {declines, sched.Job{Tasks: 2, Where: [][]sched.Node{{0, 1}, {0, 1}}}, 1, 4, false},
		"nothing waits":                {declines, sched.Job{Tasks: 2}, 2, 4, false},
		"all probes are at one node":   {declines, sched.Job{Tasks: 2, Nodes: []sched.Node{0}}, 1, 4, false},
		"the other node has gone away": {declines, sched.Job{Tasks: 2}, 1, 1, false},
	} {
		s := with(c.cfg, 4)
		id, to := s.Submit(0, c.job)
		answer(t, s, id, to, true, sched.Bitmap{})
		for range c.launch {
			s.Ask(0, id, sched.Asking{Node: 1})
		}
		s.SetNodes(nodes(c.up), nil)
		before := len(s.Probed(id))
		next, declined := s.Quoted(id, 0, sched.Quote{P50: time.Minute})
		if declined != c.want || (len(next) > 0) != c.want || (len(s.Probed(id)) < before) != c.want {
			t.Errorf("%s: declined: %t, for %v; %d of %d probes are left", name, declined, next, len(s.Probed(id)), before)
		}
	}
}

// Where nearly all nodes have long work, the few others are found, also those of which the bitmap says nothing.
func TestDrawsFindTheLastClearNodes(t *testing.T) {
	const most = 200 * 64
	words := slices.Repeat([]uint64{math.MaxUint64}, most/64)
	words[0], words[1] = ^uint64(1<<5|1<<63), ^uint64(1)
	all := nodes(most + 2)
	for _, name := range []string{"all nodes", "without the first"} {
		s := sched.New(sched.Config{Ratio: 400, Repeat: true}, rand.New(rand.NewPCG(1, 2)))
		s.SetNodes(all, nil)
		s.Learn(sched.Bitmap{Words: words})
		count := map[sched.Node]int{}
		_, probes := s.Submit(0, sched.Job{Tasks: 1})
		for _, n := range probes {
			count[n]++
		}
		for _, n := range []sched.Node{5, 63, 64, most, most + 1} {
			if count[n] < 40 || len(count) != 5 {
				t.Errorf("%s: node %d has %d of %d probes, and %d nodes have some", name, n, count[n], len(probes), len(count))
			}
		}
		all = all[1:]
	}
}
