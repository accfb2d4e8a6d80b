package probes

import (
	"math/rand/v2"
	"testing"
	"time"

	"heddle/am/pool"
	"heddle/internal/await"
	"heddle/yarn/wire"
)

// Of tasks that are alike the same is expected, although they differ a little. What is expected follows when tasks take another time.
func TestEstimatesOfAlikeJobsAreTheSame(t *testing.T) {
	var e estimate
	if got := e.tell(); got != 0 {
		t.Errorf("of nothing known: %v", got)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for _, mean := range []time.Duration{100 * time.Millisecond, time.Second, time.Millisecond} {
		for range 200 {
			e.learn(time.Duration(float64(mean) * (0.8 + 0.4*rng.Float64())))
		}
		first := e.tell()
		if first < mean*7/10 || first > mean*13/10 {
			t.Errorf("tasks take %v, and are expected to take %v", mean, first)
		}
		for range 1000 {
			e.learn(time.Duration(float64(mean) * (0.8 + 0.4*rng.Float64())))
			if got := e.tell(); got != first {
				t.Fatalf("%v and then %v, with tasks of %v", first, got, mean)
			}
		}
	}
}

// The first task that ends counts whole, and what a program has said counts like many.
func TestTheFirstTaskSaysWhatIsExpected(t *testing.T) {
	var e estimate
	if e.learn(16 * time.Second); e.tell() != 16*time.Second {
		t.Errorf("one task has taken 16 s, and %v are expected", e.tell())
	}
	said := begin(time.Second)
	if said.learn(17 * time.Second); said.tell() != 2*time.Second {
		t.Errorf("a program has said 1 s, one task has taken 17 s, and %v are expected", said.tell())
	}
}

// Nodes hear that tasks take longer than was told, before the first one has ended, and that those that started have waited since they were submitted.
func TestNodesHearHowLongTasksTakeAndWait(t *testing.T) {
	f := newFake(t, "a")
	s := newScheduler(t, Options{}, f)
	c := f.take()
	await.Until(t, "the node is up", func() bool { return s.State().Nodes == 1 })
	j := s.Job()
	var all []*pool.Task
	for range 3 {
		one, _ := task(wire.Task{What: wire.Nothing})
		all = append(all, one)
	}
	j.Submit(all...)
	p := hear[*wire.Probe](t, c)
	if p.EstimateUS != 0 {
		t.Errorf("nothing is known: %+v", p)
	}
	say(t, c, &wire.Verdict{Job: p.Job, Accepted: p.Count}, &wire.Ask{ID: 1, Job: p.Job})
	first := hear[*wire.Task](t, c)
	known := hear[*wire.Estimate](t, c)
	if known.Job != p.Job || known.EstimateUS == 0 {
		t.Errorf("a task runs, and the node hears %+v", known)
	}
	if longer := hear[*wire.Estimate](t, c); longer.EstimateUS <= known.EstimateUS {
		t.Errorf("it runs on, and the node hears %+v after %+v", longer, known)
	}
	say(t, c, &wire.Ask{ID: 2, Job: p.Job})
	var second *wire.Task
	for second == nil { // more is heard of the task that runs
		m, err := c.Receive()
		if err != nil {
			t.Fatal(err)
		}
		second, _ = m.(*wire.Task)
	}
	if first.WaitedUS == 0 || second.WaitedUS <= first.WaitedUS {
		t.Errorf("submitted together, the second one after the first, they have waited for %d and %d µs", first.WaitedUS, second.WaitedUS)
	}
}
