package probe_test

import (
	"testing"

	"heddle/nm/probe"
)

func late(t *testing.T) *node {
	return newNode(t, probe.Config{Ranking: probe.Shortest, Bound: 5, Late: true}, 1).knows("a", 1, 2).knows("b", 1, 2).knows("c", 9, 9)
}

// runNext runs what is next, and wants it to be of a job.
func (n *node) runNext(job string, a probe.Answer) {
	n.t.Helper()
	name, s := n.next(a)
	if name != job {
		n.t.Fatalf("%q is next, not %q", name, job)
	}
	if s >= 0 {
		n.Free(second, s)
	}
}

// Probes of launched jobs come last, and among them in the order of their arrival, though their jobs weren't launched in that order.
func TestLateProbesKeepTheirOrder(t *testing.T) {
	n := late(t).add("a", "a", "b", "c", "a")
	n.jobs.SetLaunched(n.of["b"])
	n.runNext("a", probe.None) // b is out of the way
	n.jobs.SetLaunched(n.of["a"])
	n.runNext("c", probe.None)
	n.add("b") // arrives late
	if all, waiting := n.Queued(); all != 4 || waiting != 4 || n.Others() != 0 {
		t.Errorf("%d probes, %d wait, %d for tasks", all, waiting, n.Others())
	}
	for _, want := range []string{"a", "b", "a", "b", ""} {
		n.runNext(want, probe.None)
	}
	n.jobs.Sweep(func(probe.Handle) {})
	if all, _ := n.Queued(); all != 0 {
		t.Errorf("%d probes are left", all)
	}
}

// Tasks of a launched job may fail, and wait again: its probes go first again, at the place that they had.
func TestLateProbesWakeWhenTasksWaitAgain(t *testing.T) {
	for name, wake := range map[string]func(*node) bool{
		"Others": func(n *node) bool { return n.Others() == 4 },
		"Quote": func(n *node) bool {
			n.Lend(probe.Amount{MemoryMB: 4096, VCores: 4}) // four are in front
			defer n.Lend(one)
			return n.Quote(n.of["c"]).P50 > 0
		},
		"Next": func(*node) bool { return true },
	} {
		t.Run(name, func(t *testing.T) { lateProbesWake(t, wake) })
	}
}

func lateProbesWake(t *testing.T, wake func(*node) bool) {
	t.Helper()
	n := late(t).add("b", "a", "a", "c")
	n.jobs.SetLaunched(n.of["a"])
	n.jobs.SetLaunched(n.of["b"])
	n.runNext("c", probe.None)
	n.add("c")
	for _, job := range []string{"a", "b"} {
		n.jobs.SetLeft(n.of[job], 1)
	}
	if !wake(n) {
		t.Error("those that wait for tasks aren't counted")
	}
	for _, want := range []string{"b", "a", "a", "c", ""} { // b has as much left as a, and came first
		n.runNext(want, probe.None)
	}
}

// Probes that came late for all tasks go with their job, and with room for it.
func TestLateProbesAreCanceledAndEvicted(t *testing.T) {
	n := late(t).add("a", "a", "b", "c")
	n.jobs.SetLaunched(n.of["a"])
	n.jobs.SetLaunched(n.of["b"])
	n.runNext("c", probe.None)
	if k := n.Cancel(n.of["a"]); k != 2 {
		t.Errorf("%d probes are canceled", k)
	}
	n.Lend(probe.Amount{})
	if dropped := n.Evict(nil); len(dropped) != 1 || dropped[0] != n.of["b"] {
		t.Errorf("%v are evicted", dropped)
	}
	if all, _ := n.Queued(); all != 0 {
		t.Errorf("%d probes are left", all)
	}
}

// One of probes that wait together asks, and the others stay where they are.
func TestLateProbesAskOneByOne(t *testing.T) {
	n := late(t).add("a", "a", "a", "b")
	n.jobs.SetLaunched(n.of["a"])
	n.runNext("b", probe.None)
	_, s := n.next(probe.Clone)
	if all, waiting := n.Queued(); all != 2 || waiting != 2 {
		t.Errorf("%d probes, %d wait", all, waiting)
	}
	n.Free(second, s)
	n.jobs.SetLeft(n.of["a"], 2)
	n.runNext("a", probe.None)
	n.runNext("a", probe.None)
	n.runNext("", probe.None)
}

// One that asked late, and got a task, has its old place when the task has ended.
func TestLateProbesHaveTheirPlaceAgain(t *testing.T) {
	n := newNode(t, probe.Config{Ranking: probe.Shortest, Bound: 5, Late: true, Sticky: true}, 2).knows("a", 1, 1).knows("b", 1, 1).add("a", "b")
	_, a := n.next(probe.Task)
	n.jobs.SetLaunched(n.of["b"])
	name, b := n.next(probe.Task) // one has failed
	if name != "b" {
		t.Fatalf("%q is next", name)
	}
	n.Free(second, b)
	n.Free(second, a)
	n.jobs.SetLeft(n.of["b"], 1)
	n.want(n.order(1), "a")
}

// A late probe waits for room for a task of its own job.
func TestLateProbesWaitForRoom(t *testing.T) {
	n := newNode(t, probe.Config{Ranking: probe.Shortest, Late: true}, 2).knows("a", 1, 2)
	n.knows("large", 1, 1, func(j *probe.Job) { j.Size = probe.Amount{MemoryMB: 2048, VCores: 2} }).add("large", "a")
	n.jobs.SetLaunched(n.of["large"])
	_, a := n.next(probe.Task)
	if name, _ := n.next(probe.Clone); name != "" {
		t.Errorf("%q is asked for without room", name)
	}
	n.Free(second, a)
	n.runNext("large", probe.Clone)
}

// Many probes that were laid by ask in the order of their arrival, too.
func TestManyLateProbesAskInOrder(t *testing.T) {
	n := late(t)
	var want []string
	for range 20 {
		n.add("a", "b")
		want = append(want, "a", "b")
	}
	n.jobs.SetLaunched(n.of["a"])
	n.jobs.SetLaunched(n.of["b"])
	for _, job := range append(want, "") {
		n.runNext(job, probe.None)
	}
}
