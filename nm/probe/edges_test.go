package probe_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"heddle/nm/probe"
)

// user has a job be of a user, and at a priority.
func user(id, priority int32) func(*probe.Job) {
	return func(j *probe.Job) { j.User, j.Priority = id, priority }
}

// Handles of jobs that are forgotten are used again, for jobs that have nothing of the old ones.
func TestHandlesAreUsedAgain(t *testing.T) {
	n := newNode(t, probe.Config{}, 1).knows("a", 1, 1).knows("b", 2, 2).knows("c", 3, 3)
	n.jobs.Sweep(func(probe.Handle) {})
	seen := map[probe.Handle]bool{}
	for i := range 4 {
		want := probe.Job{Estimate: time.Duration(i+10) * second, Left: i + 20, User: int32(i), Weight: 1, Size: one}
		h := n.jobs.Add(want)
		if got := n.jobs.Of(h); got != want || seen[h] || h < 0 || h > 3 {
			t.Errorf("handle %d is of %+v, not of %+v", h, got, want)
		}
		seen[h] = true
		if i == 0 {
			n.Add(h)
		}
	}
	var left []probe.Handle
	n.jobs.Sweep(func(h probe.Handle) { left = append(left, h) })
	if len(left) != 3 {
		t.Errorf("%v are forgotten, and one of four has a probe", left)
	}
}

// What a scheduler says of the tasks that are left changes the order.
func TestWorkThatIsLeft(t *testing.T) {
	n := newNode(t, probe.Config{Ranking: probe.Shortest, Bound: 100}, 1).knows("many", 1, 9).knows("one", 5, 1).add("many", "one")
	n.want(n.order(1), "one")
	n.jobs.SetLeft(n.of["many"], 4)
	if left := n.jobs.Of(n.of["many"]).Left; left != 4 {
		t.Errorf("%d tasks are left, not 4", left)
	}
	n.add("one")
	n.want(n.order(1), "many")
	n.jobs.SetLaunched(n.of["many"])
	if n.jobs.Of(n.of["many"]).Left != 0 {
		t.Error("tasks are left of a job that has launched all")
	}
	n.add("many")
	n.jobs.SetLeft(n.of["one"], 0)
	n.jobs.SetLaunched(n.of["one"])
	n.want(n.order(2))
}

// By the order of arrival nothing overtakes, however little work it is, and only its scheduler says that a job has no tasks.
func TestOrderOfArrival(t *testing.T) {
	n := newNode(t, probe.Config{Bound: 100}, 1).knows("big", 9, 9).knows("small", 1, 1).add("big", "small", "big")
	n.jobs.SetLaunched(n.of["small"])
	n.want(n.order(9), "big", "small", "big")
}

// While a long task is suspended no other one starts, and a user who has only such lets the next user go first, and the priorities below.
func TestUsersWithNothingToStart(t *testing.T) {
	for _, order := range []probe.Ranking{probe.FIFO, probe.Shortest} {
		n := newNode(t, probe.Config{Ranking: order, Suspensions: 1}, 1).knows("l", 99, 9, long).knows("m", 99, 9, long, user(1, 0)).knows("s", 1, 9, user(2, 0)).knows("low", 1, 9, user(2, -1))
		n.add("l", "l", "m", "s", "low")
		_, l := n.next(probe.Task)
		n.Suspend(l)
		n.want(n.order(9), "s", "low")
	}
}

// A task that is suspended resumes in its own slot, and is long work again.
func TestTheSuspendedTaskResumes(t *testing.T) {
	n := newNode(t, probe.Config{Suspensions: 2}, 2).knows("l", 99, 9, long).knows("s", 1, 9).add("s", "l")
	ask, _ := n.Next(0)
	short := ask.Slot
	_, l := n.next(probe.Task)
	if _, ok := n.Suspendable(); ok {
		t.Error("no short probe waits, but one is asked for")
	}
	n.Bind(short, probe.Task)
	if _, ok := n.Suspendable(); ok {
		t.Error("no short probe waits")
	}
	n.add("l")
	if _, ok := n.Suspendable(); ok {
		t.Error("no short probe waits, but a long one")
	}
	n.add("s")
	if s, ok := n.Suspendable(); !ok || s != l {
		t.Fatalf("of the two that run slot %d is suspended, %v", s, ok)
	}
	n.Suspend(l)
	if _, ok := n.Suspendable(); ok {
		t.Error("a second task is suspended")
	}
	n.Cancel(n.of["l"])
	if !n.HasLong() {
		t.Error("what is suspended is long work")
	}
	n.Expire()
	if s, ok := n.Resume(); !ok || s != l || !n.HasLong() {
		t.Errorf("slot %d resumes, %v", s, ok)
	}
	if _, used := n.Use(); used != (probe.Amount{MemoryMB: 2048, VCores: 2}) {
		t.Errorf("%v is used", used)
	}
	n.Free(second, short)
	n.Free(second, l)
	if n.HasLong() {
		t.Error("long work is left")
	}
}

// Of two long tasks one is suspended at a time. A user pays for one that was killed meanwhile what it took, and not what it was expected to.
func TestOneLongTaskIsSuspended(t *testing.T) {
	n := newNode(t, probe.Config{Suspensions: 2}, 2).knows("l", 5, 9, long).knows("s", 1, 9).knows("t", 1, 9, user(2, 0)).add("l", "l")
	_, first := n.next(probe.Task)
	n.next(probe.Task)
	n.add("s", "t", "t", "t")
	n.Suspend(first)
	if s, ok := n.Suspendable(); ok {
		t.Errorf("slot %d is suspended as well", s)
	}
	n.want(n.order(2), "t", "t")
	n.Free(second, first) // the user of both has paid 1 s and 5 s now, and not twice 5 s
	n.want(n.order(1), "s")
}

// A user may leave while a task of his runs. Whoever comes then pays nothing for it.
func TestTasksOfUsersWhoHaveLeft(t *testing.T) {
	n := newNode(t, probe.Config{}, 2).knows("a", 1, 9).knows("b", 1, 9, user(2, 0)).knows("c", 1, 9, user(3, 0)).add("a", "b", "b", "b")
	_, a := n.next(probe.Task)
	n.want(n.order(3), "b", "b", "b")
	n.add("c", "b", "c")
	n.Free(60*second, a)
	n.want(n.order(3), "c", "b", "c")
}

// A user who has a probe at a node keeps his turn. One who is away between his probes has no more of the node than others.
func TestTurnsOfUsersWhoComeAndGo(t *testing.T) {
	n := newNode(t, probe.Config{}, 2).knows("a", 1, 9).knows("b", 1, 9, user(2, 0)).add("a", "b", "b", "b", "b", "b")
	ask, _ := n.Next(0)
	n.want(n.order(4), "b", "b", "b", "b")
	n.add("a", "a", "a")
	n.want(n.order(3), "a", "a", "a")
	n.Free(0, ask.Slot)

	n = newNode(t, probe.Config{}, 1).knows("b", 1, 9).knows("late", 1, 9, user(2, 0))
	for range 20 {
		n.add("b")
	}
	n.order(10)
	count := 0
	n.add("late")
	for range 6 {
		if n.order(1)[0] == "late" {
			n.add("late")
			count++
		}
	}
	if count > 4 {
		t.Errorf("who comes again and again has %d of 6", count)
	}
}

// Of what waits for room without a probe, clones make room for it, too. One that has none itself makes none.
func TestClonesMakeRoomForWhatWasAskedForAhead(t *testing.T) {
	n := newNode(t, probe.Config{}, 1).knows("a", 1, 9).add("a", "a")
	_, clone := n.next(probe.Clone)
	n.SetAhead(1)
	n.next(probe.Task)
	if s, ok := n.Crowding(); !ok || s != clone {
		t.Errorf("slot %d makes room, %v", s, ok)
	}

	n = newNode(t, probe.Config{}, 1).knows("a", 1, 9).add("a", "a")
	n.SetAhead(1)
	n.next(probe.Task)
	n.next(probe.Clone)
	if s, ok := n.Crowding(); ok {
		t.Errorf("slot %d makes room, and has none", s)
	}
}

// A clone makes room also after a suspended task has gone.
func TestClonesMakeRoomAfterSuspensions(t *testing.T) {
	n := newNode(t, probe.Config{Suspensions: 1}, 1).knows("l", 9, 9, long).knows("a", 1, 9).add("l", "a", "a")
	_, l := n.next(probe.Task)
	n.Suspend(l)
	_, clone := n.next(probe.Clone)
	n.Free(0, l)
	if s, ok := n.Crowding(); !ok || s != clone {
		t.Errorf("slot %d makes room, %v", s, ok)
	}
}

// Clones make room only where there is none, and only for jobs that may have tasks.
func TestClonesStayWhereThereIsRoom(t *testing.T) {
	for _, cfg := range []probe.Config{{}, {Ranking: probe.Shortest, Late: true}} {
		clonesStay(t, cfg)
	}
}

func clonesStay(t *testing.T, cfg probe.Config) {
	t.Helper()
	n := newNode(t, cfg, 3).knows("a", 1, 9).knows("b", 1, 9).add("a", "a")
	n.next(probe.Task)
	_, clone := n.next(probe.Clone)
	if _, ok := n.Crowding(); ok {
		t.Error("a clone ends though nothing waits")
	}
	n.add("b")
	if _, ok := n.Crowding(); ok {
		t.Error("a clone ends, and there is room")
	}
	n.next(probe.Task)
	n.add("b")
	n.jobs.SetLaunched(n.of["b"])
	if _, ok := n.Crowding(); ok {
		t.Error("a clone ends for a job that has no tasks")
	}
	n.jobs.SetLeft(n.of["b"], 0)
	if s, ok := n.Crowding(); !ok || s != clone {
		t.Errorf("slot %d makes room, %v: the job may have a task", s, ok)
	}
}

// Probes are found where they are by then, when others have gone.
func TestProbesMoveUp(t *testing.T) {
	n := newNode(t, probe.Config{}, 2).knows("a", 1, 9).knows("b", 1, 9, user(0, 0)).add("a", "b", "b")
	a, _ := n.Next(0)
	b, _ := n.Next(0)
	n.Bind(a.Slot, probe.None)
	n.Bind(b.Slot, probe.Task)
	if all, waiting := n.Queued(); all != 1 || waiting != 1 {
		t.Errorf("of three probes two were answered: %d are queued, %d wait", all, waiting)
	}
	n.Free(second, a.Slot)
	n.Free(second, b.Slot)
	if c, _ := n.Next(0); c.Slot != a.Slot && c.Slot != b.Slot {
		t.Errorf("slot %d is taken, and %d and %d are vacant", c.Slot, a.Slot, b.Slot)
	}
}

// A probe is found under its own priority, when its task is bound and when it ends.
func TestPrioritiesOfProbes(t *testing.T) {
	n := newNode(t, probe.Config{Sticky: true}, 1).knows("a", 1, 9, user(3, 7)).add("a")
	_, s := n.next(probe.Task)
	n.Free(second, s)
	if all, waiting := n.Queued(); all != 1 || waiting != 1 {
		t.Errorf("a probe that sticks: %d are queued, %d wait", all, waiting)
	}
	n.next(probe.None)
	if all, _ := n.Queued(); all != 0 {
		t.Errorf("%d probes are queued after the scheduler had no task", all)
	}
	if n.Cancel(n.of["a"]) != 0 || newNode(t, probe.Config{}, 1).knows("b", 1, 1).Cancel(0) != 0 {
		t.Error("probes are removed that there aren't")
	}
}

// Each debt lasts: who has had much comes after who has had little, even if he was away while a third one came.
func TestDebtsOutlastAbsence(t *testing.T) {
	n := newNode(t, probe.Config{}, 1).knows("much", 100, 9, user(1, 0)).knows("little", 1, 9, user(2, 0)).knows("third", 1, 9, user(3, 0))
	n.add("much")
	n.want(n.order(9), "much")
	n.add("little", "little", "third", "third", "much")
	n.want(n.order(9), "little", "third", "little", "third", "much")
}

// What is stolen is added to what the caller has, and a user without anything to steal lets the next one give.
func TestStealingFromSeveralUsers(t *testing.T) {
	build := func() *node {
		n := newNode(t, probe.Config{}, 2).knows("l", 9, 9, long, user(1, 0)).knows("a", 1, 9, user(1, 0)).knows("b", 1, 9, user(2, 0)).knows("c", 1, 9, user(3, 0))
		n.SetLongOutside(true)
		return n.add("l", "b", "b", "c")
	}
	n := build()
	mine := []probe.Handle{77, 78}
	if got := n.Steal(slices.Clone(mine), 1); len(got) != 3 || got[0] != 77 || n.name[got[2]] != "b" {
		t.Errorf("one is stolen: %v", got)
	}
	if got := n.Steal(slices.Clone(mine), 9); len(got) != 3 || n.name[got[2]] != "b" {
		t.Errorf("only the group of one user is stolen: %v", got)
	}
	n = build()
	n.add("a", "l", "a")
	n.SetLongOutside(false)
	if got := n.Steal(slices.Clone(mine), 9); len(got) != 3 || n.name[got[2]] != "a" {
		t.Errorf("the group between long work is stolen: %v", got)
	}
	idle := newNode(t, probe.Config{}, 1)
	for what, got := range map[string][]probe.Handle{"Steal": idle.Steal(slices.Clone(mine), 9), "StealAny": idle.StealAny(slices.Clone(mine), 9)} {
		if !slices.Equal(got, mine) {
			t.Errorf("%s of nothing: %v", what, got)
		}
	}
	n = build()
	n.SetLongOutside(false)
	n.Cancel(n.of["b"])
	n.Cancel(n.of["c"])
	n.add("a")
	if got := n.Steal(slices.Clone(mine), 9); len(got) != 3 || n.name[got[2]] != "a" {
		t.Errorf("what waits behind one long probe is stolen: %v", got)
	}
	n.add("b") // behind no long work
	if got := n.Steal(slices.Clone(mine), 9); !slices.Equal(got, mine) {
		t.Errorf("what has nothing in front is stolen: %v", got)
	}
	n = build()
	n.next(probe.Task)
	ask, _ := n.Next(0)
	if got := n.StealAny(slices.Clone(mine), 2); len(got) != 4 || n.name[got[2]] != "b" || n.name[got[3]] != "c" || n.name[ask.Job] != "b" {
		t.Errorf("all but what is asked for is stolen: %v", got)
	}
}

// What is asked for isn't removed when less is lent, and doesn't wait for others.
func TestAskedForProbesStay(t *testing.T) {
	n := newNode(t, probe.Config{}, 1).knows("a", 1, 9).knows("big", 1, 9, func(j *probe.Job) { j.Size = probe.Amount{MemoryMB: 1, VCores: 2} }).add("a", "a", "big")
	ask, _ := n.Next(0)
	if n.Others() != 2 {
		t.Errorf("%d others wait", n.Others())
	}
	n.jobs.SetLeft(n.of["a"], 0)
	if n.Others() != 2 {
		t.Error("a job whose tasks aren't known to be launched doesn't count")
	}
	lent, _ := n.Use()
	if got := n.Evict(nil); lent != one || len(got) != 1 || n.name[got[0]] != "big" {
		t.Errorf("of %v, %v doesn't fit", lent, got)
	}
	n.Lend(probe.Amount{})
	if got := n.Evict(nil); len(got) != 1 || n.name[got[0]] != "a" {
		t.Errorf("%v have to go", got)
	}
	n.Bind(ask.Slot, probe.Task)
}

// Without the settings that decline probes all are accepted.
func TestProbesAreAccepted(t *testing.T) {
	n := newNode(t, probe.Config{}, 1).knows("a", 1, 9).knows("big", 1, 9, func(j *probe.Job) { j.Size.MemoryMB = 9999 })
	n.SetLongOutside(true)
	if a, b := n.Offer(n.of["a"]), n.Offer(n.of["big"]); a != probe.Accepted || b != probe.Accepted {
		t.Errorf("%v, %v", a, b)
	}
}

// A slot is used as it may be, or its caller is wrong.
func TestSlotsAreUsedInOrder(t *testing.T) {
	for name, wrong := range map[string]func(*node, probe.Slot){
		"bound twice": func(n *node, s probe.Slot) { n.Bind(s, probe.Task); n.Bind(s, probe.Task) },
		"freed twice": func(n *node, s probe.Slot) { n.Free(0, s); n.Free(0, s) },
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, probe.Config{}, 1).knows("a", 1, 9).add("a")
			ask, _ := n.Next(0)
			defer func() {
				if recover() == nil {
					t.Error("nothing was said")
				}
			}()
			wrong(n, ask.Slot)
		})
	}
}

// The dropped are named once, with the call that dropped them.
func TestDroppedOfTheLastCall(t *testing.T) {
	n := newNode(t, probe.Config{Ranking: probe.Shortest}, 2).knows("a", 1, 9).knows("b", 1, 9).knows("c", 1, 9).add("a", "c")
	n.jobs.SetLaunched(n.of["a"])
	n.Next(0)
	n.add("b")
	n.jobs.SetLaunched(n.of["b"])
	n.Next(0)
	if d := n.Dropped(); len(d) != 1 || n.name[d[0]] != "b" {
		t.Errorf("%v were dropped", d)
	}
}

// An exponential duration of 10 s ends within 6.9 s in half of all cases, and within 30 s in 95 of 100: quotes come near to that, and sums of
// several come near to theirs.
func TestQuotesOfExponentialDurations(t *testing.T) {
	about := func(mean, variance float64) probe.Quote { // Wilson and Hilferty
		shape := mean * mean / variance
		at := func(z float64) time.Duration {
			return time.Duration(mean * math.Pow(1-1/(9*shape)+z/(3*math.Sqrt(shape)), 3) * float64(second))
		}
		return probe.Quote{P50: at(0), P95: at(1.645)}
	}
	sized := func(a probe.Amount) func(*probe.Job) { return func(j *probe.Job) { j.Size = a } }
	for name, c := range map[string]struct {
		slots int64
		begin func(*node)
		of    string // "new" but where it says otherwise
		want  probe.Quote
	}{
		"one runs":           {1, func(n *node) { n.add("ten"); n.next(probe.Task) }, "", about(10, 100)},
		"one is asked":       {1, func(n *node) { n.add("ten"); n.Next(0) }, "", about(10, 100)},
		"two run":            {2, func(n *node) { n.add("ten", "ten"); n.next(probe.Task); n.next(probe.Task) }, "", about(5, 25)},
		"one has room":       {2, func(n *node) { n.add("ten"); n.next(probe.Task) }, "", probe.Quote{}},
		"a clone":            {1, func(n *node) { n.add("ten"); n.next(probe.Clone) }, "", probe.Quote{}},
		"one in front":       {1, func(n *node) { n.add("ten", "twenty"); n.next(probe.Task) }, "", about(30, 500)},
		"two in front":       {2, func(n *node) { n.add("ten", "ten", "twenty", "twenty"); n.next(probe.Task); n.next(probe.Task) }, "", about(25, 225)},
		"one asked in front": {1, func(n *node) { n.add("twenty", "ten"); n.Next(0) }, "", about(30, 500)},
		"a lower priority":   {1, func(n *node) { n.add("ten", "lower"); n.next(probe.Task) }, "", about(10, 100)},
		"a higher priority":  {1, func(n *node) { n.add("ten", "higher"); n.next(probe.Task) }, "", about(20, 200)},
		"launched":           {1, func(n *node) { n.add("ten", "twenty"); n.next(probe.Task); n.jobs.SetLaunched(n.of["twenty"]) }, "", about(10, 100)},
		"perhaps launched":   {1, func(n *node) { n.add("ten", "twenty"); n.next(probe.Task); n.jobs.SetLeft(n.of["twenty"], 0) }, "", about(30, 500)},
		// One of 32 asks got no task lately: as much less is expected of the probes in front, and it is less certain.
		"no task lately": {1, func(n *node) {
			n.add("ten")
			_, s := n.next(probe.None)
			n.Free(0, s)
			n.add("ten", "twenty")
			n.next(probe.Task)
		}, "", func() probe.Quote {
			missed := 1. / 32 * 31 / 32 // the second ask got one
			got := 1 - missed
			return about(10+got*20, 100+got*(2-got)*400+got*missed/63*400)
		}()},
		// About half of the asks got none, and twenty probes are in front, of which nobody knows how many get one.
		"few tasks lately": {1, func(n *node) {
			for range 22 {
				n.add("ten")
				_, s := n.next(probe.None)
				n.Free(0, s)
			}
			n.add("ten")
			for range 20 {
				n.add("twenty")
			}
			n.next(probe.Task)
		}, "", func() probe.Quote {
			missed := (1 - math.Pow(31./32, 22)) * 31 / 32
			got := 1 - missed
			return about(10+20*got*20, 100+20*got*(2-got)*400+got*missed/63*400*400)
		}()},
		"no memory":  {2, func(n *node) { n.add("ten", "ten"); n.next(probe.Task); n.next(probe.Task) }, "cores", about(5, 25)},
		"no cores":   {2, func(n *node) { n.add("ten", "ten"); n.next(probe.Task); n.next(probe.Task) }, "memory", about(5, 25)},
		"half of it": {2, func(n *node) { n.add("ten", "ten"); n.next(probe.Task); n.next(probe.Task) }, "both", about(20, 200)},
		"nothing":    {2, func(n *node) { n.add("ten", "ten"); n.next(probe.Task); n.next(probe.Task) }, "none", probe.Quote{}},
		"too large":  {2, func(*node) {}, "large", probe.Quote{P50: math.MaxInt64, P95: math.MaxInt64}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, probe.Config{}, c.slots).knows("ten", 10, 9).knows("twenty", 20, 9).knows("lower", 10, 9, user(0, -1)).knows("higher", 10, 9, user(0, 1)).knows("new", 1, 9)
			n.knows("cores", 1, 9, sized(probe.Amount{VCores: 1})).knows("memory", 1, 9, sized(probe.Amount{MemoryMB: 1024})).knows("none", 1, 9, sized(probe.Amount{}))
			n.knows("both", 1, 9, sized(probe.Amount{MemoryMB: 2048, VCores: 1})).knows("large", 1, 9, sized(probe.Amount{MemoryMB: 1024, VCores: 3}))
			c.begin(n)
			of := c.of
			if of == "" {
				of = "new"
			}
			if got := n.Quote(n.of[of]); (got.P50-c.want.P50).Abs() > time.Millisecond || (got.P95-c.want.P95).Abs() > time.Millisecond {
				t.Errorf("%v, not %v", got, c.want)
			}
		})
	}
}
