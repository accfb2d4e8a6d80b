package probe_test

import (
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
	n := newNode(t, probe.Config{Order: probe.Shortest, Bound: 5, Late: true}, 1).knows("a", 1, 9).knows("b", 1, 9).add("a", "b", "b")
	n.SetAhead(2)
	_, first := n.next(probe.Task)
	x, ok := n.Next(0)
	y, also := n.Next(0)
	if !ok || !also {
		t.Fatal("it doesn't ask ahead")
	}
	n.Bind(0, y.Slot, probe.None)
	n.Free(0, y.Slot)
	n.Free(0, first)
	if s, ok := n.Start(0); ok || n.Early(x.Slot) {
		t.Errorf("slot %d starts without an answer", s)
	}
	n.Bind(0, x.Slot, probe.Task)
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

// Ten thousand probes of a job are one entry of the queue, and each is counted.
func TestProbesOfAJobAreKeptTogether(t *testing.T) {
	n := newNode(t, probe.Config{Order: probe.Shortest, Bound: 5, PerUser: 20_001}, 2).knows("a", 1, 10_000).knows("b", 2, 10_000)
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
	w := probe.New(&probe.Config{Order: probe.Shortest, Bound: 5, Sticky: true}, &jobs, one)
	h := jobs.Add(probe.Job{Estimate: second, Left: 20_000, Size: one})
	for range 20_000 {
		w.Add(h)
	}
	for b.Loop() {
		a, _ := w.Next(0)
		w.Bind(0, a.Slot, probe.Task)
		w.Free(0, a.Slot)
	}
}
