package shorttasks

import (
	"testing"

	"heddle/internal/await"
	"heddle/yarn/wire"
)

// A program that submits many tasks at once sends faster than it reads. The node reads on when the program has caught up, and sends nobody away for it: what runs
// there would run twice.
func TestAFloodOfProbesWaits(t *testing.T) {
	l := newLab(t, 1)
	c := l.scheduler("flood")
	say(t, c, of(1, 1, 1))
	say(t, c, &wire.Task{ID: hear[*wire.Ask](t, c).ID, Left: 1})
	await.Until(t, "a task runs", func() bool { return l.Counts().Started == 1 })
	const many = 200000
	sent := make(chan error, 1)
	go func() {
		all := make([]wire.Message, many)
		for i := range all {
			all[i] = of(2, 1, many)
		}
		_, err := c.Write(all...)
		sent <- err
	}()
	await.Until(t, "the node reads no more", func() bool {
		l.Node.mu.Lock()
		defer l.Node.mu.Unlock()
		for _, s := range l.schedulers {
			return !s.behind.IsZero()
		}
		return false
	})
	for heard := 0; heard < many; {
		m, err := c.Receive()
		if err != nil {
			t.Fatalf("after %d answers: %v", heard, err)
		}
		switch m := m.(type) {
		case *wire.Verdict:
			heard++
		case *wire.Refusal:
			t.Fatalf("after %d answers it is sent away: %s", heard, m.Reason)
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if _, used, _ := l.Use(); used.VCores != 1 {
		t.Errorf("%+v is used; the task ran before the flood", used)
	}
}

// A scheduler that reads nothing at all is sent away, and others get its room.
func TestAFloodThatNobodyReads(t *testing.T) {
	l := newLab(t, 1)
	c := l.scheduler("flood")
	go func() {
		for c.Send(of(2, 1, 9)) == nil {
		}
	}()
	await.Until(t, "the node reads no more", func() bool {
		l.Node.mu.Lock()
		defer l.Node.mu.Unlock()
		for _, s := range l.schedulers {
			return !s.behind.IsZero() || s.last
		}
		return false
	})
	l.later(2 * behindLimit)
	await.Until(t, "it is gone", func() bool {
		_, used, waiting := l.Use()
		l.Node.mu.Lock()
		defer l.Node.mu.Unlock()
		return used.VCores == 0 && waiting == 0 && len(l.schedulers) == 0
	})
}
