package pool

import (
	"slices"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/yarn/records"
	"heddle/yarn/wire"
)

// The pool names the containers of executors that it has lost, once. Those that were to leave aren't lost.
func TestContainersOfLostExecutors(t *testing.T) {
	b := start(t, Options{})
	gone := b.dial(&wire.Hello{Container: "gone", Slots: 1})
	left := b.dial(&wire.Hello{Container: "left", Slots: 1})
	await.Until(t, "two executors", func() bool { return b.State().Executors == 2 })
	if got := b.Lost(); len(got) != 0 {
		t.Errorf("lost: %q", got)
	}
	gone.Close()
	await.Until(t, "one executor", func() bool { return b.State().Executors == 1 })
	if got := b.Leave(1); !slices.Equal(got, []string{"left"}) {
		t.Errorf("leaving: %q", got)
	}
	left.Close()
	await.Until(t, "no executor", func() bool { return b.State().Executors == 0 })
	if got := b.Lost(); !slices.Equal(got, []string{"gone"}) {
		t.Errorf("lost: %q", got)
	}
	if got := b.Lost(); len(got) != 0 {
		t.Errorf("lost again: %q", got)
	}
}

// Executors that had come weren't started in vain, though all of them are lost at once, as after a standstill of the client.
func TestExecutorsThatHadComeWereStarted(t *testing.T) {
	b := start(t, Options{})
	h := &holder{pool: b.Pool, held: map[records.ContainerID]bool{}}
	for n := range int64(2 * startFailures) {
		id := records.ContainerID{ID: n}
		h.held[id] = true
		if n%2 == 0 {
			e := b.dial(&wire.Hello{Container: id.String(), Slots: 1})
			await.Until(t, "the executor", func() bool { return b.State().Executors == 1 })
			e.Close()
			await.Until(t, "its loss", func() bool { return b.State().Executors == 0 })
		}
		h.ended(id, "it has ended")
	}
	if h.failed != startFailures || len(b.came) != 0 {
		t.Errorf("%d in vain, %d remembered", h.failed, len(b.came))
	}
}

// The container of a lost executor is given back if it hasn't ended after a while.
func TestContainersThatOutliveTheirExecutors(t *testing.T) {
	id := func(n int64) records.ContainerID { return records.ContainerID{ID: n} }
	h := &holder{held: map[records.ContainerID]bool{id(1): true, id(2): true, id(3): true}, lost: map[records.ContainerID]time.Time{}}
	now := time.Now()
	if got := h.overdue(now, []string{id(1).String(), id(2).String(), id(9).String(), "no container"}); len(got) != 0 {
		t.Errorf("at once: %v", got)
	}
	delete(h.held, id(2)) // it has ended
	if got := h.overdue(now.Add(lostLimit-1), nil); len(got) != 0 {
		t.Errorf("before its time: %v", got)
	}
	if got := h.overdue(now.Add(lostLimit), nil); !slices.Equal(got, []records.ContainerID{id(1)}) {
		t.Errorf("given back: %v", got)
	}
	if got := h.overdue(now.Add(2*lostLimit), nil); len(got) != 0 || len(h.lost) != 0 || len(h.held) != 1 {
		t.Errorf("then: %v, %d are lost, %d held", got, len(h.lost), len(h.held))
	}
}
