package sched_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"heddle/am/sched"
)

func nodes(n int) (all []sched.Node) {
	for i := range n {
		all = append(all, sched.Node(i))
	}
	return all
}

func with(cfg sched.Config, n int) *sched.Scheduler {
	s := sched.New(cfg, rand.New(rand.NewPCG(1, 2)))
	s.SetNodes(nodes(n), nil)
	return s
}

func TestBatchSamplingProbesRatioTimesTasks(t *testing.T) {
	for _, c := range []struct {
		ratio       float64
		least       int
		tasks, want int
	}{
		{2, 0, 10, 20}, {1.5, 0, 10, 15}, {1.5, 0, 1, 2}, {2, 20, 3, 20}, {2, 20, 11, 22}, {1, 0, 1, 1}, {2, 0, 0, 0},
	} {
		_, probes := with(sched.Config{Ratio: c.ratio, Least: c.least}, 100).Submit(0, sched.Job{Tasks: c.tasks})
		if len(probes) != c.want {
			t.Errorf("%+v: %d probes", c, len(probes))
		}
		slices.Sort(probes)
		if len(slices.Compact(slices.Clone(probes))) != c.want {
			t.Errorf("%+v: nodes are probed twice: %v", c, probes)
		}
	}
}

func TestProbesAreSpreadIfThereAreMoreThanNodes(t *testing.T) {
	_, probes := with(sched.Config{Ratio: 2}, 7).Submit(0, sched.Job{Tasks: 7})
	count := map[sched.Node]int{}
	for _, n := range probes {
		count[n]++
	}
	for n, k := range count {
		if k != 2 || len(count) != 7 {
			t.Errorf("node %d has %d of %d probes", n, k, len(probes))
		}
	}
}

func TestTasksAreBoundToThoseWhoAsk(t *testing.T) {
	s := with(sched.Config{Ratio: 2}, 10)
	id, _ := s.Submit(0, sched.Job{Tasks: 2})
	for i, want := range []sched.Answer{{Kind: sched.Task, Task: 0, Left: 1, Waited: time.Second}, {Kind: sched.Task, Task: 1, Waited: time.Second}, {}} {
		if a := s.Ask(time.Second, id, sched.Asking{Node: sched.Node(i)}); a != want {
			t.Errorf("ask %d: %+v, not %+v", i, a, want)
		}
	}
	if r := s.Finished(id, 1, 1); r != (sched.Result{First: true}) {
		t.Errorf("the first end: %+v", r)
	}
	if r := s.Finished(id, 1, 1); r != (sched.Result{}) {
		t.Errorf("repeated: %+v", r)
	}
	if r := s.Finished(id, 0, 0); r != (sched.Result{First: true, Done: true}) {
		t.Errorf("the last end: %+v", r)
	}
	s.Forget(id)
	other, _ := s.Submit(0, sched.Job{Tasks: 1})
	if a := s.Ask(0, id, sched.Asking{}); a.Kind != sched.None || other == id {
		t.Errorf("a job that is forgotten gives %+v; the next is %d after %d", a, other, id)
	}
}

// Rejected probes go to nodes that the newest bitmap shows free of long work, and then to the short partition.
func TestRejectedProbesFollowTheNewestBitmap(t *testing.T) {
	s := sched.New(sched.Config{Ratio: 2, Rounds: 2}, rand.New(rand.NewPCG(1, 2)))
	s.SetNodes(nodes(64), []sched.Node{0, 1})
	id, probes := s.Submit(0, sched.Job{Tasks: 4})
	old, newest := sched.Bitmap{Words: []uint64{0}, At: 1}, sched.Bitmap{Words: []uint64{0xffff_ffff_ffff_fff0}, At: 2}
	round := func(probes []sched.Node, accepted int, bitmaps ...sched.Bitmap) (next []sched.Node, last bool) {
		for i, n := range slices.Clone(probes) {
			if next != nil {
				t.Fatal("the round was over before all had answered")
			}
			var b sched.Bitmap
			if i < len(bitmaps) {
				b = bitmaps[i]
			}
			next, last = s.Answered(id, n, i < accepted, b)
		}
		return slices.Clone(next), last
	}
	second, last := round(probes, 3, old, newest, old)
	if len(second) != 5 || last || slices.Max(second) > 3 {
		t.Fatalf("after the first round: %v, last: %v", second, last)
	}
	third, last := round(second, 1)
	if len(third) != 4 || !last || slices.Max(third) > 1 {
		t.Fatalf("after the second round: %v, last: %v", third, last)
	}
	if next, _ := round(third, 4); next != nil {
		t.Fatalf("after the third round: %v", next)
	}
	if n := len(s.Probed(id)); n != 8 {
		t.Errorf("%d probes are out", n)
	}
}

func TestAJobThatNobodyAcceptsIsStarving(t *testing.T) {
	s := with(sched.Config{Ratio: 2}, 4)
	id, probes := s.Submit(0, sched.Job{Tasks: 2})
	starving := func() (n int) {
		s.Starving(func(sched.ID) { n++ })
		return n
	}
	for _, n := range slices.Clone(probes) {
		if starving() > 0 {
			t.Fatal("it starves before all nodes have answered")
		}
		s.Answered(id, n, false, sched.Bitmap{})
	}
	if starving() != 1 {
		t.Fatal("nobody starves")
	}
	again := slices.Clone(s.Reprobe(id))
	if len(again) != 4 {
		t.Fatalf("probes again: %v", again)
	}
	for _, n := range again {
		s.Answered(id, n, true, sched.Bitmap{})
	}
	if starving() != 0 {
		t.Fatal("it starves with probes out")
	}
	for range 2 {
		s.Ask(0, id, sched.Asking{Node: 1})
	}
	if a := s.Ask(0, id, sched.Asking{Node: 1}); a.Kind != sched.None || starving() != 0 {
		t.Errorf("nothing waits, and the answer is %+v", a)
	}
}

func TestConstraints(t *testing.T) {
	s := with(sched.Config{Ratio: 2}, 50)
	id, probes := s.Submit(0, sched.Job{Tasks: 5, Nodes: []sched.Node{3, 4, 5}})
	if len(probes) != 10 || slices.Max(probes) > 5 || slices.Min(probes) < 3 {
		t.Errorf("a job for nodes 3 to 5 probes %v", probes)
	}
	if a := s.Ask(0, id, sched.Asking{Node: 7}); a.Kind != sched.None || a.Left != 5 {
		t.Errorf("node 7 gets %+v", a)
	}
	id, probes = s.Submit(0, sched.Job{Tasks: 3, Where: [][]sched.Node{{1, 2}, nil, {2, 3}}})
	if slices.Sort(probes); len(probes) != 6 {
		t.Errorf("tasks with constraints probe %v", probes)
	}
	// Node 2 may run both tasks; node 9 only the one without a constraint.
	for i, want := range []struct {
		node sched.Node
		task int32
	}{{2, 0}, {2, 2}, {9, 1}} {
		if a := s.Ask(0, id, sched.Asking{Node: want.node}); a.Kind != sched.Task || a.Task != want.task {
			t.Errorf("ask %d: %+v", i, a)
		}
	}
	if probes := s.Failed(id, 2, 2); len(probes) != 2 || slices.Min(probes) < 2 || slices.Max(probes) > 3 {
		t.Errorf("a failed task probes %v", probes)
	}
	if a := s.Ask(0, id, sched.Asking{Node: 1}); a.Kind != sched.None {
		t.Errorf("node 1 may not run task 2: %+v", a)
	}
	if a := s.Ask(0, id, sched.Asking{Node: 3}); a.Kind != sched.Task || a.Task != 2 {
		t.Errorf("node 3 gets %+v", a)
	}
}

func TestLateProbesGetClonesWhenTheClusterIsIdle(t *testing.T) {
	s := with(sched.Config{Ratio: 2, CloneBelow: time.Second}, 10)
	id, _ := s.Submit(0, sched.Job{Tasks: 2})
	s.Ask(0, id, sched.Asking{Node: 1})
	s.Ask(0, id, sched.Asking{Node: 2})
	if a := s.Ask(0, id, sched.Asking{Node: 3, Others: 1}); a.Kind != sched.None {
		t.Errorf("a clone delays others: %+v", a)
	}
	if a := s.Ask(0, id, sched.Asking{Node: 1}); a.Kind != sched.Clone || a.Task != 1 {
		t.Errorf("node 1 runs task 0, and gets %+v", a)
	}
	if a := s.Ask(0, id, sched.Asking{Node: 3}); a.Kind != sched.Clone || a.Task != 0 {
		t.Errorf("node 3 gets %+v", a)
	}
	if a := s.Ask(0, id, sched.Asking{Node: 4}); a.Kind != sched.None {
		t.Errorf("a second clone: %+v", a)
	}
	if r := s.Finished(id, 0, 3); r != (sched.Result{First: true, Stop: true, At: 1}) {
		t.Errorf("the clone wins: %+v", r)
	}
	if r := s.Finished(id, 0, 1); r != (sched.Result{}) {
		t.Errorf("the loser: %+v", r)
	}
	if probes := s.Failed(id, 1, 2); probes != nil {
		t.Errorf("a task whose clone runs is repeated: %v", probes)
	}
	if r := s.Finished(id, 1, 1); r != (sched.Result{First: true, Done: true}) {
		t.Errorf("the clone that is left: %+v", r)
	}

	id, _ = s.Submit(0, sched.Job{Tasks: 100})
	for range 100 {
		s.Ask(time.Minute, id, sched.Asking{Node: 1})
	}
	if a := s.Ask(time.Minute, id, sched.Asking{Node: 2}); a.Kind != sched.None || s.MeanWait() < time.Second {
		t.Errorf("after a mean wait of %v: %+v", s.MeanWait(), a)
	}
}

func TestStagedTasksGoFirst(t *testing.T) {
	s := with(sched.Config{Ratio: 2}, 10)
	id, _ := s.Submit(0, sched.Job{Tasks: 4})
	if a := s.Ask(0, id, sched.Asking{Staged: []int32{2, 99, -1}}); a.Task != 2 {
		t.Errorf("%+v", a)
	}
	if a := s.Ask(0, id, sched.Asking{Staged: []int32{2}}); a.Task != 0 {
		t.Errorf("task 2 was launched: %+v", a)
	}
}

// Whatever is lost and fails, each task's result is delivered once, and the job ends.
func TestEachResultOnce(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		cfg := sched.Config{Ratio: 1 + rng.Float64(), Sticky: rng.IntN(2) > 0}
		if rng.IntN(2) > 0 {
			cfg.CloneBelow = time.Hour
		}
		s := sched.New(cfg, rng)
		up := nodes(6)
		s.SetNodes(slices.Clone(up), nil)
		var where [][]sched.Node
		tasks := 1 + rng.IntN(20)
		if rng.IntN(2) > 0 {
			for range tasks {
				a, b := sched.Node(rng.IntN(6)), sched.Node(rng.IntN(6))
				where = append(where, [][]sched.Node{nil, {a, b}, {a}}[rng.IntN(3)])
			}
		}
		id, probes := s.Submit(0, sched.Job{Tasks: tasks, Where: where})
		type attempt struct {
			task int32
			at   sched.Node
		}
		var runs []attempt
		delivered := make([]int, tasks)
		var queue []sched.Node
		send := func(to []sched.Node) {
			for _, n := range slices.Clone(to) {
				ok := rng.IntN(10) > 0
				if ok {
					queue = append(queue, n)
				}
				if more, _ := s.Answered(id, n, ok, sched.Bitmap{}); more != nil {
					t.Fatal("a round that isn't configured")
				}
			}
		}
		send(probes)
		over := false
		for step := 0; !over; step++ {
			if step > 10_000 {
				t.Fatalf("seed %d: the job doesn't end; %d runs, %d probes", seed, len(runs), len(queue))
			}
			s.Starving(func(id sched.ID) { send(s.Reprobe(id)) })
			switch k := rng.IntN(20); {
			case k == 0:
				n := sched.Node(rng.IntN(6))
				gone := func(x sched.Node) bool { return x == n }
				queue = slices.DeleteFunc(queue, gone)
				if rng.IntN(2) > 0 {
					runs = slices.DeleteFunc(runs, func(a attempt) bool { return a.at == n })
				}
				var to []sched.Node
				for _, p := range s.Lost(n) {
					to = append(to, p.Node)
				}
				send(to)
			case k < 10 && len(queue) > 0:
				i := rng.IntN(len(queue))
				n := queue[i]
				a := s.Ask(0, id, sched.Asking{Node: n})
				if a.Kind != sched.None {
					runs = append(runs, attempt{a.Task, n})
				}
				if a.Kind != sched.Task || !cfg.Sticky {
					queue = slices.Delete(queue, i, i+1)
				}
			case len(runs) > 0:
				i := rng.IntN(len(runs))
				a := runs[i]
				runs = slices.Delete(runs, i, i+1)
				if k == 19 {
					send(s.Failed(id, a.task, a.at))
					continue
				}
				r := s.Finished(id, a.task, a.at)
				if r.First {
					delivered[a.task]++
				}
				over = r.Done
			}
		}
		for i, n := range delivered {
			if n != 1 {
				t.Fatalf("seed %d: the result of task %d was delivered %d times", seed, i, n)
			}
		}
	}
}
