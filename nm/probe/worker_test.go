package probe_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"heddle/nm/probe"
)

const second = time.Second

// node is a Worker with names for jobs.
type node struct {
	*probe.Worker
	t    *testing.T
	jobs *probe.Jobs
	of   map[string]probe.Handle
	name map[probe.Handle]string
}

var one = probe.Amount{MemoryMB: 1024, VCores: 1}

func newNode(t *testing.T, cfg probe.Config, slots int64) *node {
	jobs := &probe.Jobs{}
	lent := probe.Amount{MemoryMB: slots * 1024, VCores: slots}
	return &node{probe.New(&cfg, jobs, lent), t, jobs, map[string]probe.Handle{}, map[probe.Handle]string{}}
}

// knows enters a job of tasks of so many seconds.
func (n *node) knows(name string, estimate, left int, change ...func(*probe.Job)) *node {
	j := probe.Job{Estimate: time.Duration(estimate) * second, Left: left, Size: one}
	for _, f := range change {
		f(&j)
	}
	h := n.jobs.Add(j)
	n.of[name], n.name[h] = h, name
	return n
}

func long(j *probe.Job) { j.Long = true }

func (n *node) add(names ...string) *node {
	for _, x := range names {
		n.Add(n.of[x])
	}
	return n
}

// next binds what is next, and returns its job.
func (n *node) next(a probe.Answer) (string, probe.Slot) {
	ask, ok := n.Next(0)
	if !ok {
		return "", -1
	}
	n.Bind(ask.Slot, a)
	return n.name[ask.Job], ask.Slot
}

// order runs all that is queued, one after the other, and returns the jobs of the tasks.
func (n *node) order(limit int) (order []string) {
	for len(order) < limit {
		name, slot := n.next(probe.Task)
		if slot < 0 {
			break
		}
		n.Free(n.jobs.Of(n.of[name]).Estimate, slot)
		order = append(order, name)
	}
	return order
}

func (n *node) want(got []string, want ...string) {
	n.t.Helper()
	if !slices.Equal(got, want) {
		n.t.Errorf("the order is %v, not %v", got, want)
	}
}

func TestRoomIsTakenFromTheAskToTheEnd(t *testing.T) {
	n := newNode(t, probe.Config{}, 2).knows("a", 1, 9).add("a", "a", "a", "a")
	x, ok := n.Next(0)
	y, ok2 := n.Next(0)
	if _, third := n.Next(0); !ok || !ok2 || third || x.Slot == y.Slot {
		t.Fatal("there is room for two asks")
	}
	if all, waiting := n.Queued(); all != 4 || waiting != 2 || n.Running() != 2 {
		t.Errorf("%d probes, %d wait, %d run", all, waiting, n.Running())
	}
	n.Bind(x.Slot, probe.None)
	n.Free(0, x.Slot)
	if all, waiting := n.Queued(); all != 3 || waiting != 2 {
		t.Errorf("after a no-op: %d probes, %d wait", all, waiting)
	}
	n.Bind(y.Slot, probe.Task)
	n.Lend(one)
	if _, ok := n.Next(0); ok {
		t.Error("a task starts in what isn't lent any more")
	}
	n.Free(second, y.Slot)
	if _, ok := n.Next(0); !ok {
		t.Error("the room that is left isn't used")
	}
	if _, used := n.Use(); used != one {
		t.Errorf("%v is used", used)
	}
}

func TestNoSmallerOneOvertakesForItsSize(t *testing.T) {
	n := newNode(t, probe.Config{}, 2)
	n.knows("small", 1, 9).knows("big", 1, 9, func(j *probe.Job) { j.Size = probe.Amount{MemoryMB: 2048, VCores: 1} })
	n.add("small", "big", "small")
	if name, _ := n.next(probe.Task); name != "small" {
		t.Fatal(name)
	}
	if name, _ := n.next(probe.Task); name != "" {
		t.Errorf("%s overtakes", name)
	}
}

func TestStickyProbesAskAgainAtTheirPlace(t *testing.T) {
	n := newNode(t, probe.Config{Sticky: true}, 1).knows("a", 1, 2).knows("b", 1, 1).knows("l", 9, 1, long).add("a", "b", "l")
	n.want(n.order(2), "a", "a")
	ask, _ := n.Next(0)
	if !ask.Sticky || n.name[ask.Job] != "a" {
		t.Errorf("%+v", ask)
	}
	n.Bind(ask.Slot, probe.None)
	n.Free(0, ask.Slot)
	n.want(n.order(1), "b")
	n.Cancel(n.of["b"])
	n.want(n.order(5), "l") // long work doesn't stick
}

func TestAStickyProbeHasOneSlot(t *testing.T) {
	n := newNode(t, probe.Config{Sticky: true}, 3).knows("a", 1, 9).knows("b", 1, 9).add("a", "b")
	first, s := n.next(probe.Task)
	second, _ := n.next(probe.Task)
	if _, ok := n.Next(0); first != "a" || second != "b" || ok {
		t.Fatalf("%s, %s, then one more: %v", first, second, ok)
	}
	n.Cancel(n.of["a"])
	n.Free(0, s)
	if _, ok := n.Next(0); ok {
		t.Error("a cancelled probe asks again")
	}
}

func TestShortestRemainingWorkFirst(t *testing.T) {
	n := newNode(t, probe.Config{Ranking: probe.Shortest, Bound: 5}, 1)
	n.knows("a", 10, 10).knows("b", 4, 3).knows("c", 4, 2).knows("gone", 1, 1).add("a", "gone", "b", "c")
	n.jobs.SetLaunched(n.of["gone"])
	n.want(n.order(9), "c", "b", "a")
	if all, _ := n.Queued(); all != 0 {
		t.Errorf("%d probes are left", all)
	}
}

// A probe of 2 s may be overtaken by 10 s of work.
func TestStarvationBound(t *testing.T) {
	for _, c := range []struct {
		strict bool
		want   []string
	}{{false, []string{"s", "s", "s", "s", "s", "a"}}, {true, []string{"s", "s", "s", "s", "a", "s"}}} {
		n := newNode(t, probe.Config{Ranking: probe.Shortest, Bound: 5, Strict: c.strict}, 1)
		n.knows("a", 2, 100).knows("s", 2, 1).add("a", "s", "s", "s", "s", "s", "s", "s")
		n.want(n.order(6), c.want...)
	}
	// What isn't launched isn't charged.
	n := newNode(t, probe.Config{Ranking: probe.Shortest, Bound: 1}, 1).knows("a", 2, 100).knows("s", 2, 1).add("a", "s", "s", "s")
	if name, s := n.next(probe.None); name != "s" {
		t.Fatal(name)
	} else {
		n.Free(0, s)
	}
	n.want(n.order(3), "s", "a", "s")
}

func TestLongWorkUnderShortest(t *testing.T) {
	n := newNode(t, probe.Config{Ranking: probe.Shortest, Bound: 5}, 1)
	n.knows("l", 100, 100, long).knows("a", 30, 90).knows("m", 25, 1, long).knows("z", 1, 1)
	n.add("l", "a", "m", "z")
	// The head is long. Then m has less work left than a, and ends the search before z.
	n.want(n.order(4), "l", "m", "z", "a")
	for _, left := range []int{2, 3} { // as much as a, and more: a is next
		n = newNode(t, probe.Config{Ranking: probe.Shortest, Bound: 5}, 1).knows("a", 30, 2).knows("m", 30, left, long).add("a", "m")
		n.want(n.order(2), "a", "m")
	}
}

// What a sticky probe's task took isn't waited for: nobody overtakes a probe while its task runs.
func TestNobodyOvertakesWhatRuns(t *testing.T) {
	n := newNode(t, probe.Config{Ranking: probe.Shortest, Bound: 1, Sticky: true}, 2).knows("a", 2, 5).knows("s", 2, 1).knows("t", 2, 1).add("a")
	_, a := n.next(probe.Task)
	n.add("s", "t")
	if name, _ := n.next(probe.Task); name != "s" {
		t.Fatalf("%q is next", name)
	}
	n.Free(second, a)
	n.want(n.order(1), "t")
}

func TestPrioritiesAreStrict(t *testing.T) {
	prio := func(p int32) func(*probe.Job) { return func(j *probe.Job) { j.Priority = p } }
	n := newNode(t, probe.Config{}, 1).knows("low", 1, 9, prio(-1)).knows("mid", 1, 9).knows("high", 1, 9, prio(7))
	n.add("low", "mid", "high", "mid", "low", "high")
	n.want(n.order(9), "high", "high", "mid", "mid", "low", "low")
}

func TestUsersShareByWeight(t *testing.T) {
	user := func(id int32, weight float64) func(*probe.Job) {
		return func(j *probe.Job) { j.User, j.Weight = id, weight }
	}
	n := newNode(t, probe.Config{}, 1)
	n.knows("a", 1, 99, user(1, 0)).knows("b", 1, 99, user(2, 3)).knows("c", 4, 99, user(3, 1)).knows("late", 1, 9, user(4, 1))
	for range 40 {
		n.add("a", "b", "c")
	}
	count := map[string]int{}
	for _, x := range n.order(32) {
		count[x]++
	}
	// b has three times the time of a; c as much as a, in tasks of four times the length.
	if a, b, c := count["a"], count["b"], count["c"]; a < 6 || a > 9 || b < 20 || b > 24 || c != 2 {
		t.Errorf("shares: %v", count)
	}
	// Whoever comes late doesn't get the time that passed.
	for range 9 {
		n.add("late")
	}
	count = map[string]int{}
	for _, x := range n.order(12) {
		count[x]++
	}
	if count["late"] > 4 {
		t.Errorf("the one who came late catches up: %v", count)
	}
}

func TestUsersPayForWhatTasksTook(t *testing.T) {
	user := func(j *probe.Job) { j.User = 2 }
	n := newNode(t, probe.Config{}, 1).knows("liar", 1, 9).knows("b", 1, 9, user)
	for range 20 {
		n.add("liar", "b")
	}
	count := map[string]int{}
	for range 11 {
		name, s := n.next(probe.Task)
		took := second
		if name == "liar" {
			took = 10 * second
		}
		n.Free(took, s)
		count[name]++
	}
	if count["liar"] > 2 {
		t.Errorf("who runs ten times as long as announced has %v", count)
	}
}

func TestLimits(t *testing.T) {
	n := newNode(t, probe.Config{Probes: 3, PerUser: 2, AvoidLong: true}, 1)
	n.knows("a", 1, 9).knows("b", 1, 9, func(j *probe.Job) { j.User = 2 }).knows("l", 1, 9, long)
	offer := func(name string, want probe.Verdict) {
		t.Helper()
		if v := n.Offer(n.of[name]); v != want {
			t.Errorf("%s: %v", name, v)
		}
	}
	offer("a", probe.Accepted)
	n.add("a", "a")
	offer("a", probe.UserIsFull)
	offer("b", probe.Accepted)
	n.add("b")
	offer("b", probe.Full)
	n.Cancel(n.of["a"])
	offer("a", probe.Accepted)
	n.SetLongOutside(true)
	offer("a", probe.HasLong)
	offer("l", probe.Accepted)
	n.SetLongOutside(false)
	n.Cancel(n.of["b"])
	n.add("l")
	offer("a", probe.HasLong)
	_, s := n.next(probe.Task)
	offer("a", probe.HasLong)
	n.Free(0, s)
	offer("a", probe.Accepted)
}

func TestStealing(t *testing.T) {
	build := func() *node {
		n := newNode(t, probe.Config{}, 1).knows("a", 1, 9).knows("b", 1, 9).knows("l", 99, 9, long)
		return n.add("a", "l", "l", "b", "a", "l", "b")
	}
	names := func(n *node, h []probe.Handle) (names []string) {
		for _, x := range h {
			names = append(names, n.name[x])
		}
		return names
	}
	n := build()
	n.want(names(n, n.Steal(nil, 99)), "b", "a")
	n.want(names(n, n.Steal(nil, 99)), "b")
	n.want(names(n, n.Steal(nil, 99)))
	n.want(n.order(9), "a", "l", "l", "l")

	n = build()
	n.want(names(n, n.Steal(nil, 1)), "b")
	n.next(probe.Task) // a runs
	n.want(names(n, n.Steal(nil, 9)), "a")

	n = build().add("b")
	n.Cancel(n.of["a"]) // l l b l b b
	n.next(probe.Task)
	n.next(probe.Task)
	n.want(names(n, n.Steal(nil, 9)), "b")

	n = build()
	n.want(names(n, n.StealAny(nil, 3)), "a", "b", "a")

	n = newNode(t, probe.Config{}, 1).knows("a", 1, 9).add("a", "a")
	n.want(names(n, n.Steal(nil, 9)))
	n.SetLongOutside(true)
	n.want(names(n, n.Steal(nil, 9)), "a", "a")
}

func TestClonesMakeRoom(t *testing.T) {
	n := newNode(t, probe.Config{Sticky: true}, 2).knows("a", 1, 9).add("a", "a")
	n.next(probe.Task)
	_, clone := n.next(probe.Clone)
	if _, ok := n.Crowding(); ok {
		t.Error("a clone ends for nobody")
	}
	n.add("a")
	if s, ok := n.Crowding(); !ok || s != clone {
		t.Errorf("slot %d, %v", s, ok)
	}
	n.Free(0, clone)
	if _, ok := n.Crowding(); ok {
		t.Error("there is room")
	}
	n.next(probe.Task)
	n.add("a")
	if _, ok := n.Crowding(); ok {
		t.Error("a task ends for another")
	}
}

// Dice's conditions for suspending a long task.
func TestLongTasksAreSuspendedForShortOnes(t *testing.T) {
	n := newNode(t, probe.Config{Suspensions: 2}, 1).knows("a", 1, 99).knows("l", 99, 9, long).add("a")
	_, a := n.next(probe.Task)
	n.add("a")
	if _, ok := n.Suspendable(); ok {
		t.Error("no long task runs")
	}
	n.Free(0, a)
	n.Cancel(n.of["a"])
	n.add("l")
	_, l := n.next(probe.Task)
	if n.add("l"); n.HasLong() {
		if _, ok := n.Suspendable(); ok {
			t.Error("no short probe waits")
		}
	}
	n.add("a", "a", "a")
	for range 2 {
		s, ok := n.Suspendable()
		if !ok || s != l {
			t.Fatal("a long task isn't suspended")
		}
		n.Suspend(s)
		if _, ok := n.Suspendable(); ok {
			t.Error("another is suspended")
		}
		if _, ok := n.Resume(); ok {
			t.Error("it resumes before its time")
		}
		name, a := n.next(probe.Task)
		if name != "a" {
			t.Errorf("%q runs in its place", name)
		}
		n.Expire()
		if _, ok := n.Resume(); ok {
			t.Error("it resumes while the short one runs")
		}
		n.Free(second, a)
		if _, ok := n.Next(0); ok {
			t.Error("a short one starts after its time")
		}
		if s, ok := n.Resume(); !ok || s != l {
			t.Fatal("it doesn't resume")
		}
	}
	if _, ok := n.Suspendable(); ok {
		t.Error("it is suspended a third time")
	}
	n.Free(second, l)
	n.want(n.order(9), "l", "a")
}

func TestJobsAreForgotten(t *testing.T) {
	n := newNode(t, probe.Config{}, 1).knows("a", 1, 9).knows("b", 1, 9).add("a")
	swept := func() (names []string) {
		n.jobs.Sweep(func(h probe.Handle) { names = append(names, n.name[h]) })
		return names
	}
	n.want(swept(), "b")
	_, s := n.next(probe.Task)
	n.want(swept())
	n.Free(0, s)
	n.want(swept(), "a")
	if h := n.jobs.Add(probe.Job{}); h != n.of["a"] {
		t.Errorf("the handle %d isn't used again", h)
	}
}

// Whatever happens, what is counted is what is there.
func TestCountsHold(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		cfg := probe.Config{Ranking: probe.Ranking(rng.IntN(2)), Bound: float64(rng.IntN(6)), Sticky: rng.IntN(2) > 0, Suspensions: 2}
		n := newNode(t, cfg, 1+rng.Int64N(3))
		var all []probe.Handle
		for i := range 8 {
			n.knows(string(rune('a'+i)), rng.IntN(5), 1+rng.IntN(5), func(j *probe.Job) {
				j.Long, j.Priority, j.User = rng.IntN(4) == 0, int32(rng.IntN(2)), int32(rng.IntN(3))
			})
			all = append(all, n.of[string(rune('a'+i))])
		}
		asked, runs := []probe.Slot{}, []probe.Slot{}
		suspended := probe.Slot(-1)
		for range 300 {
			h := all[rng.IntN(len(all))]
			switch rng.IntN(10) {
			case 0, 1, 2:
				n.Add(h)
			case 3, 4:
				if a, ok := n.Next(0); ok {
					asked = append(asked, a.Slot)
				}
			case 5, 6:
				if len(asked) > 0 {
					s := asked[0]
					asked = asked[1:]
					a := probe.Answer(rng.IntN(3))
					n.Bind(s, a)
					runs = append(runs, s)
				}
			case 7:
				if len(runs) > 0 {
					i := rng.IntN(len(runs))
					if runs[i] == suspended {
						suspended = -1
					}
					n.Free(second, runs[i])
					runs = slices.Delete(runs, i, i+1)
				}
			case 8:
				switch rng.IntN(4) {
				case 0:
					n.Cancel(h)
				case 1:
					n.Steal(nil, 1+rng.IntN(3))
				case 2:
					n.StealAny(nil, 1)
				case 3:
					n.jobs.SetLaunched(h)
				}
			case 9:
				if s, ok := n.Suspendable(); ok && rng.IntN(2) > 0 {
					n.Suspend(s)
					suspended = s
				} else if n.Expire(); true {
					n.Resume()
				}
			}
			all, waiting := n.Queued()
			if waiting < 0 || waiting > all || n.Running() != len(asked)+len(runs) {
				t.Fatalf("seed %d: %d probes, %d wait, %d run of %d", seed, all, waiting, n.Running(), len(asked)+len(runs))
			}
		}
		for _, h := range all {
			n.Cancel(h)
		}
		for _, s := range append(asked, runs...) {
			n.Free(0, s)
		}
		if all, waiting := n.Queued(); all != 0 || waiting != 0 || n.HasLong() {
			t.Fatalf("seed %d: %d probes, %d wait, long work: %v", seed, all, waiting, n.HasLong())
		}
		if _, used := n.Use(); used != (probe.Amount{}) {
			t.Fatalf("seed %d: %v is used", seed, used)
		}
		forgotten := 0
		if n.jobs.Sweep(func(probe.Handle) { forgotten++ }); forgotten != len(all) {
			t.Fatalf("seed %d: %d jobs are forgotten", seed, forgotten)
		}
	}
}

// With Config.Late the probes of launched jobs wait for clones until nothing else does.
func TestLateProbesComeLast(t *testing.T) {
	n := newNode(t, probe.Config{Ranking: probe.Shortest, Bound: 5, Late: true}, 1).knows("gone", 1, 1).knows("a", 9, 9).add("gone", "a")
	n.jobs.SetLaunched(n.of["gone"])
	if k := n.Others(); k != 1 {
		t.Errorf("%d others wait", k)
	}
	name, a := n.next(probe.Task)
	if name != "a" {
		t.Fatal(name)
	}
	n.Free(second, a)
	name, s := n.next(probe.Clone)
	if name != "gone" {
		t.Fatal(name)
	}
	n.add("gone")
	if _, ok := n.Crowding(); ok {
		t.Error("a clone ends for a probe that has no task")
	}
	n.add("a")
	if c, ok := n.Crowding(); !ok || c != s {
		t.Error("a clone is in the way of a task")
	}
}

func TestDroppedProbesAreNamed(t *testing.T) {
	n := newNode(t, probe.Config{Ranking: probe.Shortest, Bound: 5}, 1).knows("gone", 1, 1).knows("a", 9, 9).add("gone", "a", "gone")
	n.jobs.SetLaunched(n.of["gone"])
	n.next(probe.Task)
	if d := n.Dropped(); len(d) != 2 || n.name[d[0]] != "gone" {
		t.Errorf("%v", d)
	}
	if d := n.Dropped(); len(d) != 0 {
		t.Errorf("%v once more", d)
	}
}

// Probes that are dropped or taken from within the queue leave the order of the others.
func TestOrderAroundDroppedProbes(t *testing.T) {
	n := newNode(t, probe.Config{Ranking: probe.Shortest, Bound: 5}, 1)
	n.knows("gone", 1, 1).knows("a", 9, 2).knows("b", 9, 1).add("a", "gone", "b", "gone")
	n.jobs.SetLaunched(n.of["gone"])
	n.want(n.order(9), "b", "a")
}

func TestLongQueues(t *testing.T) {
	n := newNode(t, probe.Config{}, 2).knows("a", 1, 9).knows("b", 1, 9)
	for i := range 500 {
		n.add([]string{"a", "b"}[i%2])
		n.add([]string{"a", "b"}[i%2])
		if name, s := n.next(probe.Task); name != []string{"a", "b"}[i/2%2] {
			t.Fatalf("probe %d is of %s", i, name)
		} else {
			n.Free(second, s)
		}
	}
	if all, waiting := n.Queued(); all != 500 || waiting != 500 {
		t.Errorf("%d probes, %d wait", all, waiting)
	}
	if k := n.Cancel(n.of["a"]); k != 250 {
		t.Errorf("%d probes of a are cancelled", k)
	}
	if k := n.Cancel(n.of["a"]); k != 0 {
		t.Errorf("%d more are", k)
	}
}

// An ask that is never answered takes its probe with it.
func TestUnansweredAsk(t *testing.T) {
	n := newNode(t, probe.Config{}, 1).knows("a", 1, 9).add("a", "a")
	ask, _ := n.Next(0)
	n.Free(0, ask.Slot)
	if all, waiting := n.Queued(); all != 1 || waiting != 1 || n.Others() != 1 {
		t.Errorf("%d probes, %d wait, %d others", all, waiting, n.Others())
	}
}

// What waits behind long work that runs is stolen, but not the probe that a slot has.
func TestStealingLeavesWhatRuns(t *testing.T) {
	n := newNode(t, probe.Config{Sticky: true}, 2).knows("a", 1, 9).knows("l", 99, 9, long).add("l", "a", "a", "a")
	if name, _ := n.next(probe.Task); name != "l" {
		t.Fatal(name)
	}
	n.next(probe.Task)
	if got := n.Steal([]probe.Handle{7}, 9); len(got) != 3 {
		t.Errorf("%d probes are stolen", len(got)-1)
	}
	if all, waiting := n.Queued(); all != 1 || waiting != 0 {
		t.Errorf("%d probes are left, %d wait", all, waiting)
	}
}

// Users with weights pay for what tasks took by their weights.
func TestWeightsOfWhatTasksTook(t *testing.T) {
	user := func(id int32, weight float64) func(*probe.Job) {
		return func(j *probe.Job) { j.User, j.Weight = id, weight }
	}
	n := newNode(t, probe.Config{}, 1).knows("a", 1, 9, user(1, 1)).knows("b", 1, 9, user(2, 4))
	for range 60 {
		n.add("a", "b")
	}
	count := map[string]int{}
	for range 50 {
		name, s := n.next(probe.Task)
		n.Free(7*second, s)
		count[name]++
	}
	if count["a"] < 8 || count["a"] > 12 {
		t.Errorf("shares: %v", count)
	}
}

// Without that a scheduler that answers each ask with "no task" is asked again and again, for ever, and nobody else.
func TestAsksThatGetNoTaskCostTheirSlotTime(t *testing.T) {
	user := func(id int32) func(*probe.Job) { return func(j *probe.Job) { j.User = id } }
	for took, least := range map[time.Duration]int{0: 9000, 100 * time.Millisecond: 900} {
		n := newNode(t, probe.Config{Ranking: probe.Shortest, Bound: 5, Sticky: true, Late: true}, 1)
		n.knows("idle", 1, 9, user(1)).knows("works", 1, 9, user(2))
		n.jobs.SetLeft(n.of["works"], 1<<20)
		now, worked, asked := time.Duration(0), time.Duration(0), 0
		n.add("works")
		for range 10000 {
			n.add("idle") // it sends a probe for each answer
			ask, _ := n.Next(now)
			if n.name[ask.Job] == "idle" {
				now += took
				asked++
				n.Bind(ask.Slot, probe.None)
			} else {
				now += 10 * time.Millisecond
				worked += 10 * time.Millisecond
				n.Bind(ask.Slot, probe.Task)
			}
			n.Free(now, ask.Slot)
		}
		// Each has half of the slot's time, or less if asks take none: an ask costs a millisecond.
		if worked < now*49/100 || asked < least {
			t.Errorf("asks that take %v: the other user has had %v of %v, and %d asks got nothing", took, worked, now, asked)
		}
	}
}

// The probe of a task may be gone before the scheduler answers, and the answer may be a clone: the slot is taken all the same.
func TestNoAnswerRunsForNothing(t *testing.T) {
	user := func(id int32) func(*probe.Job) { return func(j *probe.Job) { j.User = id } }
	for name, answer := range map[string]func(n *node, ask probe.Ask){
		"a task of a job that was dropped": func(n *node, ask probe.Ask) {
			n.Cancel(ask.Job)
			n.Bind(ask.Slot, probe.Task)
		},
		"a clone":            func(n *node, ask probe.Ask) { n.Bind(ask.Slot, probe.Clone) },
		"none at all":        func(*node, probe.Ask) {},
		"no task in a while": func(n *node, ask probe.Ask) { n.Bind(ask.Slot, probe.None) },
	} {
		n := newNode(t, probe.Config{}, 1).knows("sly", 1, 9, user(1)).knows("fair", 1, 9, user(2))
		count := map[string]int{}
		for now := time.Duration(0); now < 100*second; now += second {
			n.add("sly", "fair")
			ask, _ := n.Next(now)
			if job := n.name[ask.Job]; job == "fair" {
				count[job]++
				n.Bind(ask.Slot, probe.Task)
			} else {
				count[job]++
				answer(n, ask)
			}
			n.Free(now+second, ask.Slot)
		}
		if count["fair"] < 49 || count["sly"] < 49 {
			t.Errorf("%s: %v", name, count)
		}
	}
}

// A queue that has its size allocates nothing.
func TestNothingIsAllocated(t *testing.T) {
	for _, cfg := range []probe.Config{{}, {Ranking: probe.Shortest, Bound: 5, Sticky: true, AvoidLong: true}} {
		n := newNode(t, cfg, 2).knows("a", 1, 9).knows("b", 1, 9)
		for range 64 {
			n.add("a", "b")
		}
		if k := testing.AllocsPerRun(1000, func() {
			h := n.of["a"]
			if n.Offer(h) == probe.Accepted {
				n.Add(h)
			}
			if ask, ok := n.Next(0); ok {
				n.Bind(ask.Slot, probe.Task)
				n.Free(0, ask.Slot)
			}
			if ask, ok := n.Next(0); ok {
				n.Bind(ask.Slot, probe.None)
				n.Free(0, ask.Slot)
			}
		}); k > 0 {
			t.Errorf("%+v: %v allocations", cfg, k)
		}
	}
}

// Tasks that are expected to take no time use up the bound as well.
func TestUnknownEstimatesUseUpTheBound(t *testing.T) {
	n := newNode(t, probe.Config{Ranking: probe.Shortest, Bound: 3}, 1).knows("large", 0, 10).knows("small", 0, 1)
	n.add("large")
	for range 10 {
		n.add("small")
	}
	n.want(n.order(5), "small", "small", "small", "large", "small")
}

// Weights that are none count as 1.
func TestWeightsThatAreNone(t *testing.T) {
	for _, w := range []float64{math.NaN(), math.Inf(1), -1} {
		n := newNode(t, probe.Config{}, 1)
		n.knows("odd", 1, 9, func(j *probe.Job) { j.User, j.Weight = 1, w }).knows("other", 1, 9, func(j *probe.Job) { j.User = 2 })
		n.add("odd", "odd", "odd", "other", "other", "other")
		n.want(n.order(6), "odd", "other", "odd", "other", "odd", "other")
	}
}

// Probes for tasks that are larger than all that is lent are refused, or given back when less is lent, and hold up no others.
func TestTasksThatNeverFit(t *testing.T) {
	n := newNode(t, probe.Config{Fitting: true}, 4)
	n.knows("large", 1, 2, func(j *probe.Job) { j.Size = probe.Amount{MemoryMB: 3 * 1024, VCores: 3} }).knows("small", 1, 2)
	if v := n.Offer(n.of["large"]); v != probe.Accepted {
		t.Fatal(v)
	}
	n.add("large", "small", "large")
	n.Lend(probe.Amount{MemoryMB: 2 * 1024, VCores: 2})
	if v := n.Offer(n.of["large"]); v != probe.TooLarge || v.String() == "" {
		t.Errorf("%v", v)
	}
	if gone := n.Evict(nil); len(gone) != 2 || gone[0] != n.of["large"] || gone[1] != gone[0] {
		t.Errorf("gone are %v", gone)
	}
	n.want(n.order(2), "small")
	if all, waiting := n.Queued(); all != 0 || waiting != 0 {
		t.Errorf("%d probes are left, %d wait", all, waiting)
	}
}

// A user has some probes although others have filled the queue.
func TestReservedProbes(t *testing.T) {
	jobs := &probe.Jobs{}
	w := probe.New(&probe.Config{Probes: 4, Reserved: 2}, jobs, probe.Amount{MemoryMB: 1, VCores: 1})
	of := func(user int32) probe.Handle {
		return jobs.Add(probe.Job{Left: 9, User: user, Size: probe.Amount{MemoryMB: 1, VCores: 1}})
	}
	for i, test := range []struct {
		user int32
		want probe.Verdict
	}{{1, probe.Accepted}, {1, probe.Accepted}, {1, probe.Accepted}, {2, probe.Accepted}, {1, probe.Full}, {2, probe.Accepted}, {2, probe.Full}, {3, probe.Accepted}} {
		h := of(test.user)
		if got := w.Offer(h); got != test.want {
			t.Errorf("%d: %v", i, got)
		}
		if test.want == probe.Accepted {
			w.Add(h)
		}
	}
}
