package shorttasks

import (
	"context"
	"testing"

	"heddle/internal/await"
	"heddle/nm/probe"
	"heddle/yarn/wire"
)

// size is what the last order has left to executors.
func (l *lab) size() probe.Amount {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := int32(0)
	for version := range l.sizes {
		last = max(last, version)
	}
	return l.sizes[last]
}

// An executor's limits follow what its node is lent, but for what its tasks still use.
func TestExecutorsAreResized(t *testing.T) {
	end := make(chan uint64)
	l := newLab(t, 2)
	l.run = func(ctx context.Context, c *wire.Conn) {
		defer context.AfterFunc(ctx, c.Close)()
		go func() {
			for id := range end {
				_ = c.Send(&wire.Ended{ID: id}) // if it fails, Receive does
			}
		}()
		for _, err := c.Receive(); err == nil; _, err = c.Receive() {
		}
	}
	defer close(end)
	c := l.scheduler("one")
	say(t, c, of(1, 8, 8))
	want := func(when string, slots int64) {
		t.Helper()
		await.Until(t, when, func() bool { return l.size() == probe.Amount{MemoryMB: slots, VCores: slots} })
	}
	var ids []uint64
	for i := range 2 {
		ids = append(ids, hear[*wire.Ask](t, c).ID)
		say(t, c, &wire.Task{ID: ids[i], Left: uint64(7 - i)})
	}
	l.Lend(probe.Amount{MemoryMB: 4, VCores: 4})
	want("it gets what more was lent", 4)
	for i := range 2 {
		ids = append(ids, hear[*wire.Ask](t, c).ID)
		say(t, c, &wire.Task{ID: ids[2+i], Left: uint64(5 - i)})
	}
	await.Until(t, "four tasks run", func() bool { _, used, _ := l.Use(); return used.VCores == 4 && l.Counts().Started == 4 })
	l.Lend(probe.Amount{MemoryMB: 1, VCores: 1})
	for i, id := range ids {
		if i < 3 && l.size().MemoryMB != 4 {
			t.Errorf("while %d tasks run it has %v", 4-i, l.size())
		}
		end <- id
		for hear[*wire.Ended](t, c).ID != id {
		}
	}
	want("it has no more than is lent when its tasks have ended", 1)
	c.Close()
	l.empty()
}
