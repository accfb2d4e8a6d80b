package shorttasks

import (
	"context"
	"sync"
	"syscall"
	"testing"

	"heddle/internal/await"
	"heddle/nm/probe"
	"heddle/yarn/wire"
)

// group is Bounds of processes that use so much.
type group struct {
	mu   sync.Mutex
	now  probe.Amount
	uses int64 // MB
}

func (g *group) Set(most probe.Amount) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if most.MemoryMB < g.uses {
		return syscall.EBUSY
	}
	g.now = most
	return nil
}

func (g *group) Memory() (int64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.uses << 20, nil
}

func (g *group) use(mb int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.uses = mb
}

func (g *group) is(t *testing.T, mb int64) {
	t.Helper()
	await.Until(t, "executors are held to the amount", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.now.MemoryMB == mb
	})
}

// Each executor may use all that is lent, so that three could use three times as much, while the node said that its tasks use a little.
func TestWhatIsLentBoundsAllExecutorsTogether(t *testing.T) {
	g := &group{}
	l := newLabWith(t, func(o *Options) { o.Bounds = g })
	uses := func(want int64) {
		t.Helper()
		await.Until(t, "the node says what is used", func() bool { _, used, _ := l.Use(); return used.MemoryMB == want })
	}
	l.Lend(probe.Amount{MemoryMB: 100, VCores: 2})
	g.is(t, 100)
	uses(0)
	g.use(70) // what processes take counts, and not what tasks were given alone
	uses(70)
	l.Lend(probe.Amount{MemoryMB: 200, VCores: 2})
	g.is(t, 200)
	g.use(150)
	uses(150)
	// Less is lent than processes use. They keep what they have, and nobody else gets it until they can be held to the new amount.
	l.Lend(probe.Amount{MemoryMB: 50, VCores: 2})
	uses(200)
	g.use(40)
	g.is(t, 50)
	uses(40)

	l.run = func(ctx context.Context, c *wire.Conn) { <-ctx.Done() }
	c := l.scheduler("one")
	say(t, c, &wire.Probe{Job: 1, Count: 1, Left: 1, MemoryMB: 45, VCores: 1})
	say(t, c, &wire.Task{ID: hear[*wire.Ask](t, c).ID, Args: []string{"x"}})
	uses(45)
	// A task runs on what it was given, and the bound stays as high until it has ended.
	l.Lend(probe.Amount{MemoryMB: 10, VCores: 2})
	uses(50)
	g.use(5)
	c.Close()
	g.is(t, 10)
	uses(5)
	l.Lend(probe.Amount{})
	g.use(0)
	g.is(t, 0)
	uses(0)
}
