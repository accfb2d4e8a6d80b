package shorttasks

import (
	"context"
	"fmt"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/yarn/wire"
)

// busyLab has one slot, on which a task of a scheduler runs that knows nothing of its tasks, and nine more wait.
func busyLab(t *testing.T) (l *lab, run *wire.Conn, id uint64, ends chan<- uint64) {
	t.Helper()
	l = newLab(t, 1)
	l.freeze()
	ended := make(chan uint64)
	l.run = func(ctx context.Context, c *wire.Conn) {
		defer context.AfterFunc(ctx, c.Close)()
		for m, err := c.Receive(); err == nil; m, err = c.Receive() {
			if _, ok := m.(*wire.Task); !ok {
				continue
			}
			select {
			case id := <-ended:
				_ = c.Send(&wire.Ended{ID: id}) // the test notices
			case <-ctx.Done():
			}
		}
	}
	run = l.scheduler("run")
	say(t, run, of(1, 10, 10))
	id = hear[*wire.Ask](t, run).ID
	say(t, run, &wire.Task{ID: id, Left: 9, WaitedUS: 1})
	await.Until(t, "the task has begun", func() bool { return l.Counts().Started == 1 })
	return l, run, id, ended
}

// quoted is what a node quotes for a task of another job.
func (l *lab) quoted(c *wire.Conn, job uint64) time.Duration {
	l.t.Helper()
	_, _, before := l.Use()
	say(l.t, c, of(job, 1, 1))
	q := hear[*wire.Verdict](l.t, c)
	say(l.t, c, &wire.Drop{Job: job})
	await.Until(l.t, "its probe is dropped", func() bool { _, _, waiting := l.Use(); return waiting == before })
	return time.Duration(q.P50US) * time.Microsecond
}

// A node quotes by what tasks take, and not by the first thing that it was told: it follows tasks that run longer than was expected, those that end, and what their
// scheduler says later.
func TestQuotesFollowWhatTasksTake(t *testing.T) {
	l, run, id, ends := busyLab(t)
	other := l.scheduler("other")
	job := uint64(0)
	want := func(least, most time.Duration, when string) {
		t.Helper()
		await.Until(t, fmt.Sprintf("a quote of %v to %v: %s", least, most, when), func() bool {
			job++
			q := l.quoted(other, job)
			return q >= least && q <= most
		})
	}
	want(0, time.Second, "nothing is known")
	l.later(10 * time.Second)
	l.look()
	want(80*time.Second, 100*time.Second, "a task of ten runs for 10 s")
	l.later(10 * time.Second)
	ends <- id
	hear[*wire.Ended](t, run)
	id = hear[*wire.Ask](t, run).ID // it has the slot, and nine probes wait
	want(160*time.Second, 200*time.Second, "a task has taken 20 s")
	say(t, run, &wire.Estimate{Job: 1, EstimateUS: 2_000_000}, &wire.Estimate{Job: 99, EstimateUS: 1})
	want(16*time.Second, 20*time.Second, "the scheduler knows that they take 2 s")
	p := of(1, 1, 9)
	p.EstimateUS = 4_000_000
	say(t, run, p)
	hear[*wire.Verdict](t, run)
	want(35*time.Second, 44*time.Second, "its next probe says 4 s")
	for i := range paceMean {
		say(t, run, &wire.Task{ID: id, Left: 9, WaitedUS: 1})
		await.Until(t, "the task has begun", func() bool { return l.Counts().Started == int64(i+2) })
		l.later(time.Minute)
		ends <- id
		hear[*wire.Ended](t, run)
		id = hear[*wire.Ask](t, run).ID
	}
	say(t, run, &wire.Estimate{Job: 1, EstimateUS: 1})
	if q := l.quoted(other, job+1); q < 200*time.Second {
		t.Errorf("the node has seen %d tasks of a minute, and takes the scheduler's word for 1 µs: %v", paceMean, q)
	}
}

// Waits count from the submission of a task, which its scheduler knows, however often tasks start.
func TestWaitsCountFromTheSubmission(t *testing.T) {
	l, run, id, ends := busyLab(t)
	for i := range 3 {
		l.later(3 * time.Second)
		ends <- id
		id = hear[*wire.Ask](t, run).ID
		say(t, run, &wire.Task{ID: id, Left: 8, WaitedUS: uint64(3*(i+1)) * 1e6})
		await.Until(t, "the next task has begun", func() bool { return l.Counts().Started == int64(i+2) })
	}
	if got := l.Counts().Waited.Round(time.Millisecond); got != 18*time.Second {
		t.Errorf("tasks have waited for 3, 6 and 9 s, and the node counts %v", got)
	}
	ends <- id
	id = hear[*wire.Ask](t, run).ID
	say(t, run, &wire.Task{ID: id, Left: 8, WaitedUS: 1 << 63})
	await.Until(t, "the next task has begun", func() bool { return l.Counts().Started == 5 })
	if got := l.Counts().Waited.Round(time.Millisecond); got != 27*time.Second {
		t.Errorf("a scheduler has waited for longer than it is connected: %v", got-18*time.Second)
	}
}

// A scheduler of an earlier release doesn't tell what tasks have waited: they wait since probes have come.
func TestWaitsOfAnEarlierScheduler(t *testing.T) {
	l, run, id, ends := busyLab(t)
	for i := range 2 {
		l.later(4 * time.Second)
		ends <- id
		id = hear[*wire.Ask](t, run).ID
		say(t, run, &wire.Task{ID: id, Left: 8})
		await.Until(t, "the next task has begun", func() bool { return l.Counts().Started == int64(i+2) })
	}
	if got := l.Counts().Waited.Round(time.Millisecond); got != 12*time.Second {
		t.Errorf("tasks have waited for 4 and 8 s, and the node counts %v", got)
	}
}

// Tasks that wait have waited, although none starts.
func TestWaitsWhereNothingStarts(t *testing.T) {
	l, run, _, _ := busyLab(t)
	l.later(time.Minute)
	late := of(2, 4, 3)
	late.WaitedUS = 30e6
	say(t, run, late)
	hear[*wire.Verdict](t, run)
	if tasks, sum := l.Waits(); tasks != 9+3 || sum.Round(time.Millisecond) != 9*time.Minute+3*30*time.Second {
		t.Errorf("9 tasks wait for a minute and 3 for 30 s: %d for %v", tasks, sum)
	}
	say(t, run, &wire.Drop{Job: 1}, &wire.Drop{Job: 2})
	await.Until(t, "nothing waits", func() bool { tasks, sum := l.Waits(); return tasks == 0 && sum == 0 })
}
