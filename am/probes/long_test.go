package probes

import (
	"testing"

	"heddle/am/pool"
	"heddle/internal/await"
	"heddle/yarn/wire"
)

// Probes avoid nodes with long tasks, as long as there is another one: what the ResourceManager tells of a node counts at once.
func TestProbesAvoidNodesWithLongTasks(t *testing.T) {
	a, b := newFake(t, "a"), newFake(t, "b")
	s := newScheduler(t, Options{}, a, b)
	of := map[*fake]*wire.Conn{a: a.take(), b: b.take()}
	await.Until(t, "both nodes are up", func() bool { return s.State().Nodes == 2 })
	for _, busy := range []*fake{a, b, a} {
		free := a
		if busy == a {
			free = b
		}
		busy.Long, free.Long = true, false
		s.Offer(busy.Target, free.Target)
		one, ends := task(wire.Task{What: wire.Nothing})
		j := s.Job()
		j.Submit(one)
		p := hear[*wire.Probe](t, of[free])
		if p.Count != 2 {
			t.Errorf("%d of 2 probes go to %s, where no long task runs", p.Count, free.Node)
		}
		say(t, of[free], &wire.Ask{ID: p.Job, Job: p.Job})
		hear[*wire.Task](t, of[free])
		say(t, of[free], &wire.Ended{ID: p.Job, Why: wire.Ran})
		if e := <-ends; e.err != nil {
			t.Fatal(e.err)
		}
		hear[*wire.Drop](t, of[free])
	}
	a.Long, b.Long = true, true
	s.Offer(a.Target, b.Target)
	one, _ := task(wire.Task{What: wire.Nothing})
	s.Submit(one)
	if p := hear[*wire.Probe](t, of[a]); p.Count != 1 {
		t.Errorf("with long tasks everywhere, one node gets %d of 2 probes", p.Count)
	}
}

// A node with long tasks that says that it has room gets nothing, nor does one that comes, as long as there is another node. When its long tasks have ended it gets probes
// of what waits.
func TestNodesWithLongTasksAreNotFed(t *testing.T) {
	free, busy := newFake(t, "free"), newFake(t, "busy")
	busy.Long = true
	s := newScheduler(t, Options{}, free)
	a := free.take()
	await.Until(t, "the free node is up", func() bool { return s.State().Nodes == 1 })
	var all []*pool.Task
	for range 40 {
		one, _ := task(wire.Task{What: wire.Nothing})
		all = append(all, one)
	}
	s.Submit(all...)
	p := hear[*wire.Probe](t, a)
	say(t, a, &wire.Verdict{Job: p.Job, Accepted: p.Count})
	s.Offer(busy.Target)
	b := busy.take()
	await.Until(t, "both nodes are up", func() bool { return s.State().Nodes == 2 })
	say(t, b, &wire.Idle{MemoryMB: 1 << 20, VCores: 20})
	one, _ := task(wire.Task{What: wire.Nothing})
	s.Job().Submit(one)
	if p := hear[*wire.Probe](t, a); p.Count != 2 {
		t.Errorf("%d of 2 probes of a further job go to the free node", p.Count)
	}
	busy.Long = false
	s.Offer(busy.Target)
	if got := hear[*wire.Probe](t, b).Count + hear[*wire.Probe](t, b).Count; got < 41 {
		t.Errorf("the node hears of %d tasks of both jobs when its long tasks have ended; 41 wait", got)
	}
}

// If all nodes have long tasks, one that has room gets probes.
func TestNodesWithLongTasksAreFedWithoutOthers(t *testing.T) {
	a, b := newFake(t, "a"), newFake(t, "b")
	a.Long, b.Long = true, true
	s := newScheduler(t, Options{}, a)
	of := a.take()
	await.Until(t, "the first node is up", func() bool { return s.State().Nodes == 1 })
	one, _ := task(wire.Task{What: wire.Nothing})
	s.Submit(one)
	hear[*wire.Probe](t, of)
	s.Offer(b.Target)
	if p := hear[*wire.Probe](t, b.take()); p.Count != 1 {
		t.Errorf("%+v", p)
	}
}
