package probes

import (
	"testing"

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
