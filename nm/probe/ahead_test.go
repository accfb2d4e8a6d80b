package probe_test

import (
	"slices"
	"testing"

	"heddle/nm/probe"
)

// A task that was asked for ahead starts when a task ends, before any other probe. Without SetAhead, nothing is asked for that has no room.
func TestATaskIsAskedForAhead(t *testing.T) {
	n := newNode(t, probe.Config{Sticky: true}, 1).knows("a", 1, 9).knows("b", 1, 9).add("a", "b", "b")
	_, first := n.next(probe.Task)
	if _, ok := n.Next(0); ok {
		t.Fatal("it asks without room")
	}
	n.SetAhead(1)
	job, ahead := n.next(probe.Task)
	if job != "b" || n.Early(first) || !n.Early(ahead) {
		t.Fatalf("%q, early: %v and %v", job, n.Early(first), n.Early(ahead))
	}
	if _, ok := n.Next(0); ok {
		t.Error("it asks for two ahead")
	}
	if _, used := n.Use(); used != one {
		t.Errorf("a task without room counts: %v", used)
	}
	if _, ok := n.Start(0); ok {
		t.Error("it starts without room")
	}
	n.Free(second, first)
	if s, ok := n.Start(second); !ok || s != ahead || n.Early(ahead) {
		t.Errorf("slot %d starts (%v)", s, ok)
	}
	if _, ok := n.Start(second); ok {
		t.Error("it starts twice")
	}
	n.Free(second, ahead)
	if _, used := n.Use(); used != (probe.Amount{}) || n.Running() != 0 {
		t.Errorf("%v is used by %d", used, n.Running())
	}
}

// An ask for which there is room before its answer starts with the answer, and one that is answered by nothing leaves no trace. Probes of jobs without tasks
// aren't asked for ahead.
func TestAnAskAheadThatIsAnsweredLate(t *testing.T) {
	n := newNode(t, probe.Config{Ranking: probe.Shortest, Bound: 5, Late: true}, 1).knows("a", 1, 9).knows("b", 1, 9).add("a", "b", "b")
	n.SetAhead(2)
	_, first := n.next(probe.Task)
	x, ok := n.Next(0)
	y, also := n.Next(0)
	if !ok || !also {
		t.Fatal("it doesn't ask ahead")
	}
	n.Bind(y.Slot, probe.None)
	n.Free(0, y.Slot)
	n.Free(0, first)
	if s, ok := n.Start(0); ok || n.Early(x.Slot) {
		t.Errorf("slot %d starts without an answer", s)
	}
	n.Bind(x.Slot, probe.Task)
	n.add("a")
	n.jobs.SetLaunched(n.of["a"])
	if a, ok := n.Next(0); ok {
		t.Errorf("%s has no task, and is asked for ahead", n.name[a.Job])
	}
	n.Free(0, x.Slot)
	if _, used := n.Use(); used != (probe.Amount{}) {
		t.Errorf("%v is used", used)
	}
}

// What is asked for ahead has the order of all asks: a probe of higher priority waits for what was asked for before it, and users take turns.
func TestTurnsOfTasksAhead(t *testing.T) {
	for _, x := range []struct {
		name   string
		change func(*probe.Job)
		want   []string
	}{
		{"priority", func(j *probe.Job) { j.Priority = 1 }, []string{"a", "a", "b", "b", "b", "a", "a", "a"}},
		{"users", func(j *probe.Job) { j.User = 2 }, []string{"a", "a", "b", "a", "b", "a", "b", "a"}},
	} {
		n := newNode(t, probe.Config{}, 1).knows("a", 1, 9).knows("b", 1, 9, x.change).add("a", "a", "a", "a", "a")
		n.SetAhead(1)
		order := []string{}
		first, running := n.next(probe.Task)
		ahead, _ := n.next(probe.Task)
		order = append(order, first)
		n.add("b", "b", "b")
		for now := second; ; now += second {
			n.Free(now, running)
			s, ok := n.Start(now)
			if !ok {
				break
			}
			running, order = s, append(order, ahead)
			if a, ok := n.Next(0); ok {
				n.Bind(a.Slot, probe.Task)
				ahead = n.name[a.Job]
			}
		}
		if !slices.Equal(order, x.want) {
			t.Errorf("%s: %v, not %v", x.name, order, x.want)
		}
	}
}

// A task that never got its room costs its user no more than the least, however long it waited.
func TestATaskThatWaitedInVainIsNotPaid(t *testing.T) {
	n := newNode(t, probe.Config{}, 1).knows("a", 1, 9).knows("b", 1, 9, func(j *probe.Job) { j.User = 2 })
	n.SetAhead(1)
	n.add("b", "a", "a", "b", "b")
	x, first := n.next(probe.Task)
	y, ahead := n.next(probe.Task)
	n.Free(second, first)
	n.Free(60*second, ahead)
	if got, _ := n.next(probe.Task); got != y || x == y {
		t.Errorf("%s ran and %s waited in vain, and %s is next", x, y, got)
	}
}

// What is asked for ahead and larger than what is left is in the way until it is given back. Nothing starts once a suspended task has waited long enough.
func TestNothingStartsAheadOutOfTurn(t *testing.T) {
	n := newNode(t, probe.Config{}, 2).knows("a", 1, 9).knows("large", 1, 9, func(j *probe.Job) { j.Size = probe.Amount{MemoryMB: 2048, VCores: 2} })
	n.SetAhead(2)
	n.add("a", "large", "a")
	n.next(probe.Task)
	_, large := n.next(probe.Task)
	_, small := n.next(probe.Task)
	if s, ok := n.Start(0); ok {
		t.Errorf("slot %d starts before what came before it", s)
	}
	n.Free(0, large)
	if s, ok := n.Start(0); !ok || s != small {
		t.Errorf("slot %d starts (%v)", s, ok)
	}

	n = newNode(t, probe.Config{Suspensions: 2}, 1).knows("long", 100, 9, long).knows("a", 1, 9).add("long", "a", "a")
	_, slot := n.next(probe.Task)
	n.Suspend(slot)
	_, running := n.next(probe.Task)
	n.SetAhead(1)
	_, ahead := n.next(probe.Task)
	n.Expire()
	n.Free(0, running)
	if s, ok := n.Start(0); ok {
		t.Errorf("slot %d takes the room of the task that is to go on", s)
	}
	if s, ok := n.Resume(); !ok || s != slot {
		t.Error("it doesn't go on")
	}
	n.Free(0, slot)
	if s, ok := n.Start(0); !ok || s != ahead {
		t.Errorf("slot %d starts (%v)", s, ok)
	}
}

// Ten thousand probes of a job are one entry of the queue, and each is counted.
func TestProbesOfAJobAreKeptTogether(t *testing.T) {
	n := newNode(t, probe.Config{Ranking: probe.Shortest, Bound: 5, PerUser: 20_001}, 2).knows("a", 1, 10_000).knows("b", 2, 10_000)
	for range 10_000 {
		n.add("a")
	}
	for range 10_000 {
		n.add("b")
	}
	if all, waiting := n.Queued(); all != 20_000 || waiting != 20_000 || n.Others() != 20_000 || n.Offer(n.of["a"]) != probe.Accepted {
		t.Errorf("%d, %d wait, %d", all, waiting, n.Others())
	}
	n.add("a")
	if v := n.Offer(n.of["a"]); v != probe.UserIsFull {
		t.Errorf("one too many is %v", v)
	}
	n.next(probe.Task)
	_, s := n.next(probe.Task)
	n.Free(second, s)
	if all, waiting := n.Queued(); all != 19_999 || waiting != 19_999 {
		t.Errorf("%d, %d wait", all, waiting)
	}
	if got := n.Cancel(n.of["a"]); got != 9_999 {
		t.Errorf("%d are cancelled", got)
	}
	if got := n.StealAny(nil, 7); len(got) != 7 || n.Others() != 9_993 {
		t.Errorf("%d are stolen, %d left", len(got), n.Others())
	}
	n.Lend(probe.Amount{})
	if got := n.Evict(nil); len(got) != 9_993 {
		t.Errorf("%d are given back", len(got))
	}
	if all, _ := n.Queued(); all != 0 {
		t.Errorf("%d are left", all)
	}
}

// BenchmarkNextOfMany is an ask and its answer while 20,000 probes of one job wait.
func BenchmarkNextOfMany(b *testing.B) {
	var jobs probe.Jobs
	w := probe.New(&probe.Config{Ranking: probe.Shortest, Bound: 5, Sticky: true}, &jobs, one)
	h := jobs.Add(probe.Job{Estimate: second, Left: 20_000, Size: one})
	for range 20_000 {
		w.Add(h)
	}
	for b.Loop() {
		a, _ := w.Next(0)
		w.Bind(a.Slot, probe.Task)
		w.Free(0, a.Slot)
	}
}

// A task that its node had begin in the place of another one has the room of that, and no other task gets it.
func TestATaskAheadBeginsByItself(t *testing.T) {
	n := newNode(t, probe.Config{}, 1).knows("a", 1, 9).add("a", "a", "a")
	n.SetAhead(2)
	_, first := n.next(probe.Task)
	_, x := n.next(probe.Task)
	_, y := n.next(probe.Task)
	if got := n.Ahead(); !slices.Equal(got, []probe.Slot{x, y}) {
		t.Errorf("%v wait, not %v", got, []probe.Slot{x, y})
	}
	n.Free(second, first)
	n.Began(second, y)
	if s, ok := n.Start(second); ok || n.Early(y) {
		t.Errorf("slot %d starts (%v), too", s, ok)
	}
	n.Began(second, y) // changes nothing
	if _, used := n.Use(); used != one || !slices.Equal(n.Ahead(), []probe.Slot{x}) {
		t.Errorf("%v is used, and %v wait", used, n.Ahead())
	}
	n.Free(2*second, y)
	if s, ok := n.Start(2 * second); !ok || s != x {
		t.Errorf("slot %d starts (%v), not %d", s, ok, x)
	}
}

// Nothing is asked for ahead that can't run, and long work never is. A job of which nobody knows how many tasks are left is like others.
func TestWhatIsAskedForAhead(t *testing.T) {
	for name, x := range map[string]struct {
		change func(*probe.Job)
		want   bool
	}{
		"a task":                        {func(*probe.Job) {}, true},
		"one of a job that says 0 left": {func(j *probe.Job) { j.Left = 0 }, true},
		"a long one":                    {long, false},
		"one that never fits":           {func(j *probe.Job) { j.Size = probe.Amount{MemoryMB: 2048, VCores: 1} }, false},
	} {
		n := newNode(t, probe.Config{}, 1).knows("a", 1, 9).knows("b", 1, 9, x.change).add("a", "b")
		n.next(probe.Task)
		n.SetAhead(1)
		if _, ok := n.Next(0); ok != x.want {
			t.Errorf("%s is asked for ahead: %v", name, ok)
		}
	}
}
