package sched

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func seeded(seed uint64, cfg Config, n int) *Scheduler {
	s := New(cfg, rand.New(rand.NewPCG(seed, 2)))
	var all []Node
	for i := range n {
		all = append(all, Node(i))
	}
	s.SetNodes(all, nil)
	return s
}

// Config.Early counts from a bid, whenever it came. A bid for what isn't known is answered to its node.
func TestBidsThatComeLater(t *testing.T) {
	s, id, to := early(t, 1)
	s.Bid(5*time.Second, id, Asking{Node: to[0]}, 1)
	if g := s.Settle(6*time.Second - 1); len(g) > 0 {
		t.Errorf("too soon: %+v", g)
	}
	if g := s.Settle(6 * time.Second); len(g) != 1 || g[0].Answer.Kind != Task {
		t.Errorf("%+v", g)
	}
	if g := s.Bid(0, 99, Asking{Node: 3}, 8); len(g) != 1 || g[0] != (Grant{Node: 3, Ticket: 8}) {
		t.Errorf("for a job that isn't known: %+v", g)
	}
}

// Tasks without a constraint of their own are probed at the job's nodes, first and again.
func TestBothConstraints(t *testing.T) {
	for seed := range uint64(20) {
		s := seeded(seed, Config{Ratio: 2}, 50)
		id, to := s.Submit(0, Job{Tasks: 2, Nodes: []Node{3, 4, 5}, Where: [][]Node{{9}, nil}})
		for i, n := range to {
			if own := i < 2; own && n != 9 || !own && (n < 3 || n > 5) {
				t.Errorf("probes %v", to)
			}
		}
		if a := s.Ask(0, id, Asking{Node: 9}); a.Kind != Task || a.Task != 0 {
			t.Errorf("%+v", a)
		}
		if a := s.Ask(0, id, Asking{Node: 10}); a.Kind != None {
			t.Errorf("node 10 may run nothing, and gets %+v", a)
		}
		for _, n := range s.Reprobe(id) {
			if n < 3 || n > 5 {
				t.Errorf("probed again at %d", n)
			}
		}
	}
}

// Tasks that are added to a job of which some have nodes of their own may run anywhere.
func TestFreeTasksAfterConstrainedOnes(t *testing.T) {
	s := seeded(1, Config{Ratio: 1}, 9)
	id, _ := s.Submit(0, Job{Tasks: 1, Where: [][]Node{{1}}})
	if to := s.Grow(0, id, 2, nil); len(to) != 2 {
		t.Errorf("probes at %v", to)
	}
	for want := int32(1); want < 3; want++ {
		if a := s.Ask(0, id, Asking{Node: 8}); a.Kind != Task || a.Task != want {
			t.Errorf("%+v, want task %d", a, want)
		}
	}
	if a := s.Ask(0, id, Asking{Node: 8}); a.Kind != None || a.Left != 1 {
		t.Errorf("%+v", a)
	}
}

// Where nearly all nodes of a job have long work, and others don't, the job stays among its own. So it does where these are all nodes that are up.
func TestClearNodesOfAJob(t *testing.T) {
	const n, first, last, free = 200, 50, 149, 87
	words := make([]uint64, (n+63)/64)
	var nodes []Node
	for i := Node(first); i <= last; i++ {
		if nodes = append(nodes, i); i != free {
			words[i/64] |= 1 << (i % 64)
		}
	}
	for _, repeat := range []bool{true, false} {
		for _, up := range []bool{true, false} {
			for seed := range uint64(50) {
				s := seeded(seed, Config{Ratio: 2, Repeat: repeat}, n)
				s.Learn(Bitmap{Words: words})
				job := Job{Tasks: 1, Nodes: slices.Clone(nodes)}
				if up {
					s.SetNodes(job.Nodes, nil)
					job.Nodes = nil
				}
				if _, to := s.Submit(0, job); !slices.Equal(to, []Node{free, free}) {
					t.Fatalf("seed %d: probes at %v", seed, to)
				}
			}
		}
	}
}

// A node that is quoted of a job but holds no probe of it declines nothing, nor does a job of which no task waits.
func TestQuotesWithoutProbes(t *testing.T) {
	s := seeded(1, Config{Ratio: 2, Decline: time.Second}, 9)
	id, to := s.Submit(0, Job{Tasks: 2})
	to = slices.Clone(to)
	for _, n := range to {
		s.Answered(id, n, true, Bitmap{})
	}
	other := Node(0)
	for slices.Contains(to, other) {
		other++
	}
	if next, declined := s.Quoted(id, other, Quote{P50: time.Hour}); declined || next != nil {
		t.Errorf("a node without probes declines for %v", next)
	}
	for range 2 {
		s.Ask(0, id, Asking{Node: to[0]})
	}
	if next, declined := s.Quoted(id, to[1], Quote{P50: time.Hour}); declined || next != nil {
		t.Errorf("a job of which all tasks run declines for %v", next)
	}
}

// What a node declines is replaced by as many probes as it held, and by no more than a job has in all.
func TestHowManyQuotesAreDeclined(t *testing.T) {
	for seed := range uint64(30) {
		s := seeded(seed, Config{Ratio: 2, Decline: time.Second}, 40)
		id, to := s.Submit(0, Job{Tasks: 2})
		to = slices.Clone(to)
		for _, n := range to {
			s.Answered(id, n, true, Bitmap{})
		}
		sent := 0
		for _, n := range to[:3] { // one is out at the end, and stays
			next, declined := s.Quoted(id, n, Quote{P50: time.Hour})
			if !declined || len(next) != 1 || next[0] == n {
				t.Errorf("seed %d: node %d declines %t for %v", seed, n, declined, next)
			}
			sent += len(next)
		}
		if _, declined := s.Quoted(id, to[3], Quote{P50: time.Hour}); declined || sent != 3 {
			t.Errorf("seed %d: the last probe is declined, after %d", seed, sent)
		}
	}
}

// A job declines as many probes as it sends for its tasks.
func TestDeclinesEnd(t *testing.T) {
	s := seeded(1, Config{Ratio: 2, Decline: time.Second}, 40)
	id, to := s.Submit(0, Job{Tasks: 2})
	at := slices.Clone(to)
	declines := 0
	for len(at) > 0 {
		s.Answered(id, at[0], true, Bitmap{})
		s.Answered(id, 39, true, Bitmap{}) // somewhere else probes are always out
		next, declined := s.Quoted(id, at[0], Quote{P50: time.Hour})
		if at = at[1:]; declined {
			at = append(at, slices.Clone(next)...)
			declines++
		}
	}
	if declines != 4 {
		t.Errorf("%d probes were declined", declines)
	}
}

// The short partition isn't for jobs with nodes of their own.
func TestRejectedProbesOfConstrainedJobs(t *testing.T) {
	for name, job := range map[string]Job{
		"the job's nodes": {Tasks: 1, Nodes: []Node{0, 1}}, "a task's nodes": {Tasks: 1, Where: [][]Node{{0, 1}}}, "no constraint": {Tasks: 1},
	} {
		s := seeded(1, Config{Ratio: 2, Rounds: 1}, 2)
		s.SetNodes([]Node{0, 1, 2, 3}, []Node{2, 3})
		id, to := s.Submit(0, job)
		var next []Node
		var last bool
		for _, n := range slices.Clone(to) {
			next, last = s.Answered(id, n, false, Bitmap{})
		}
		if free := name == "no constraint"; last != free || (len(next) == 2) != free {
			t.Errorf("with %s the next probes go to %v, the last ones: %t", name, next, last)
		}
	}
}

// Of a job that is over, and of one of which all tasks run, nothing is stolen; of a job with nodes only by these.
func TestWhatIsNotStolen(t *testing.T) {
	s := seeded(1, Config{Ratio: 2}, 3)
	one, _ := s.Submit(0, Job{Tasks: 1})
	two, _ := s.Submit(0, Job{Tasks: 1, Nodes: []Node{1}})
	if got := s.Steal(2, 9); !slices.Equal(got, []Probe{{one, 2}}) {
		t.Errorf("node 2 steals %v", got)
	}
	if got := s.Steal(1, 9); len(got) != 2 {
		t.Errorf("node 1 steals %v", got)
	}
	s.Ask(0, two, Asking{Node: 1})
	if got := s.Steal(1, 9); !slices.Equal(got, []Probe{{one, 1}}) {
		t.Errorf("of what runs %v is stolen", got)
	}
	s.Forget(one)
	if got := s.Steal(1, 9); len(got) > 0 {
		t.Errorf("of what is over %v is stolen", got)
	}
}

// Of several tasks whose inputs a node has, one is drawn by chance, and none that may not run there.
func TestDrawsOfStagedTasks(t *testing.T) {
	seen := map[int32]int{}
	for seed := range uint64(300) {
		s := seeded(seed, Config{Ratio: 2}, 3)
		id, _ := s.Submit(0, Job{Tasks: 5, Where: [][]Node{nil, nil, {0}, nil, nil}})
		a := s.Ask(0, id, Asking{Node: 1, Staged: []int32{1, 2, 3, 4, 77, -1}})
		if a.Kind != Task {
			t.Fatalf("%+v", a)
		}
		seen[a.Task]++
	}
	if len(seen) != 3 || seen[1] < 60 || seen[3] < 60 || seen[4] < 60 {
		t.Errorf("drawn were %v", seen)
	}
}

// A node that gets no task has used its probe up: a job of which a task waits for another node has none out then.
func TestAsksInVainUseProbes(t *testing.T) {
	s := seeded(1, Config{Ratio: 1}, 3)
	id, to := s.Submit(0, Job{Tasks: 1, Where: [][]Node{{2}}})
	s.Answered(id, to[0], true, Bitmap{})
	if a := s.Ask(0, id, Asking{Node: 1}); a.Kind != None || a.Left != 1 {
		t.Errorf("%+v", a)
	}
	starved := 0
	s.Starving(func(ID) { starved++ })
	if starved != 1 {
		t.Errorf("%d jobs starve", starved)
	}
}

// Of tasks that run the first one without a clone gets the next one, also after clones were lost, and whichever of the two attempts was.
func TestWhichTasksAreClonedNext(t *testing.T) {
	s := seeded(1, Config{Ratio: 2, CloneBelow: time.Second}, 9)
	id, _ := s.Submit(0, Job{Tasks: 3})
	for n := range Node(3) {
		s.Ask(0, id, Asking{Node: n})
	}
	clone := func(n Node, want int32) {
		t.Helper()
		if a := s.Ask(0, id, Asking{Node: n}); want >= 0 && (a.Kind != Clone || a.Task != want) || want < 0 && a.Kind != None {
			t.Errorf("node %d gets %+v, not a clone of %d", n, a, want)
		}
	}
	clone(3, 0)
	clone(4, 1)
	clone(5, 2)
	clone(6, -1)
	s.Failed(id, 1, 4) // a clone
	clone(6, 1)
	clone(7, -1)
	s.Failed(id, 0, 0) // a first attempt: its clone takes its place
	clone(3, -1)       // that is where it runs
	clone(7, 0)
	if r := s.Finished(id, 0, 7); r != (Result{First: true, Stop: true, At: 3}) {
		t.Errorf("%+v", r)
	}
	clone(8, -1)
}

// Of a job with thousands of tasks that run where a node asks, that node looks at some of them only.
func TestClonesOfLargeJobs(t *testing.T) {
	for tasks, want := range map[int]Kind{looked: Clone, looked + 1: None} {
		s := seeded(1, Config{Ratio: 2, CloneBelow: time.Second}, 9)
		id, _ := s.Submit(0, Job{Tasks: tasks})
		for i := range tasks {
			n := Node(1)
			if i == tasks-1 {
				n = 2
			}
			s.Ask(0, id, Asking{Node: n})
		}
		if a := s.Ask(0, id, Asking{Node: 1}); a.Kind != want {
			t.Errorf("of %d tasks, all but the last at this node, it gets %+v", tasks, a)
		}
	}
}

// Waits of just the bound forbid clones.
func TestTheBoundOfClones(t *testing.T) {
	for wait, want := range map[time.Duration]Kind{64*time.Second - 64: Clone, 64 * time.Second: None} {
		s := seeded(1, Config{Ratio: 2, CloneBelow: time.Second}, 9)
		id, _ := s.Submit(0, Job{Tasks: 1})
		s.Ask(wait, id, Asking{Node: 1}) // the mean moves by a 64th
		if a := s.Ask(wait, id, Asking{Node: 2}); a.Kind != want {
			t.Errorf("after a wait of %v, %v in the mean: %+v", wait, s.MeanWait(), a)
		}
	}
}

// A lost node that held no probe of a job is replaced by none.
func TestLostNodesWithoutProbes(t *testing.T) {
	s := seeded(1, Config{Ratio: 2}, 3)
	s.Submit(0, Job{Tasks: 4, Placed: true})
	s.SetNodes([]Node{0, 1}, nil)
	if got := s.Lost(2); len(got) > 0 {
		t.Errorf("probes %v", got)
	}
}
