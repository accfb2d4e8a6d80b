package probes

import (
	"slices"
	"sync"
	"testing"
	"time"

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

// arrival is a message that a node has got.
type arrival struct {
	at *fake
	*wire.Probe
}

// arrivals are the probes that nodes get, and the connections by which they answer.
func arrivals(t *testing.T, nodes ...*fake) (<-chan arrival, map[*fake]*wire.Conn) {
	all, of := make(chan arrival, 100), map[*fake]*wire.Conn{}
	for _, f := range nodes {
		c := f.take()
		of[f] = c
		var hearing sync.WaitGroup
		hearing.Go(func() {
			for m, err := c.Receive(); err == nil; m, err = c.Receive() {
				if p, ok := m.(*wire.Probe); ok {
					all <- arrival{f, p}
				}
			}
		})
		t.Cleanup(func() {
			c.Close()
			hearing.Wait()
		})
	}
	return all, of
}

// A probe that nodes with long tasks reject goes to another node, of which no long tasks are known, and after two rounds to the short partition, which is to accept it
// whatever runs there.
func TestRejectedProbesGoElsewhere(t *testing.T) {
	for range 10 {
		a, b, short := newFake(t, "a"), newFake(t, "b"), newFake(t, "short")
		short.Short = true
		s := newScheduler(t, Options{Ratio: 1}, a, b, short)
		all, of := arrivals(t, a, b, short)
		await.Until(t, "all nodes are up", func() bool { return s.State().Nodes == 3 })
		one, _ := task(wire.Task{What: wire.Nothing})
		s.Submit(one)
		var got []*fake
		for round := range 3 {
			p := <-all
			if p.Count != 1 || p.Avoid == (round == 2) {
				t.Errorf("round %d: %+v", round, p.Probe)
			}
			if slices.Contains(got, p.at) && p.at != short {
				t.Errorf("round %d: %s, which has rejected one, gets another", round, p.at.Node)
			}
			got = append(got, p.at)
			if round < 2 { // the short partition's queue is full
				say(t, of[p.at], &wire.Verdict{Job: p.Job, Rejected: 1, Long: p.at != short})
			}
		}
		if got[2] != short {
			t.Errorf("at last %s gets it", got[2].Node)
		}
		s.Close()
	}
}

// A node that has rejected probes is avoided until the ResourceManager says that its long tasks have ended, or has told nothing of them for a while: then they have ended before
// it could tell.
func TestRejectionsAreForgotten(t *testing.T) {
	a, b := newFake(t, "a"), newFake(t, "b")
	s := newScheduler(t, Options{Ratio: 2}, a, b)
	all, of := arrivals(t, a, b)
	await.Until(t, "both nodes are up", func() bool { return s.State().Nodes == 2 })
	// submit returns how many probes of a job each node gets, and whether the first node is to avoid them.
	submit := func() (counts [2]uint64, avoids bool) {
		one, ends := task(wire.Task{What: wire.Nothing})
		j := s.Job()
		j.Submit(one)
		last := arrival{}
		for counts[0]+counts[1] < 2 {
			last = <-all
			if last.at == a {
				counts[0] += last.Count
				avoids = last.Avoid
			} else {
				counts[1] += last.Count
			}
		}
		s.Cancel(one)
		<-ends
		return counts, avoids
	}
	rejects := func() {
		one, _ := task(wire.Task{What: wire.Nothing})
		s.Job().Submit(one)
		for p := range all {
			if p.at == a {
				say(t, of[a], &wire.Verdict{Job: p.Job, Rejected: 1, Long: true})
				break
			}
			say(t, of[b], &wire.Verdict{Job: p.Job, Accepted: 1})
		}
		await.Until(t, "the rejection counts", func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.of["a"].long()
		})
		s.Cancel(one)
		for len(all) > 0 {
			<-all
		}
	}
	rejects()
	if got, _ := submit(); got != [2]uint64{0, 2} {
		t.Errorf("after a rejection: %v", got)
	}
	s.mu.Lock()
	s.forgive(time.Now().Add(doubt / 2))
	s.mu.Unlock()
	if got, _ := submit(); got != [2]uint64{0, 2} {
		t.Errorf("soon after a rejection: %v", got)
	}
	s.mu.Lock()
	s.forgive(time.Now().Add(doubt))
	s.mu.Unlock()
	if got, avoids := submit(); got != [2]uint64{1, 1} || !avoids {
		t.Errorf("if nobody confirms it: %v, %v", got, avoids)
	}
	rejects()
	for _, long := range []bool{true, false} {
		a.Long = long
		s.Offer(a.Target)
	}
	if got, _ := submit(); got != [2]uint64{1, 1} {
		t.Errorf("when the ResourceManager has said that the tasks have ended: %v", got)
	}
	for _, f := range []*fake{a, b} {
		f.Long = true
		s.Offer(f.Target)
	}
	if got, avoids := submit(); got != [2]uint64{1, 1} || avoids {
		t.Errorf("where all nodes have long tasks: %v, %v", got, avoids)
	}
}
