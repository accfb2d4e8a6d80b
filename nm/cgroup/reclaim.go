package cgroup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
)

// Memory has the parts of a group's memory, in bytes. Fields that the handler can't tell are −1.
type Memory struct {
	Anon    int64 // of programs; only swap can take it back
	File    int64 // page cache, files in memory (tmpfs) included
	Swapped int64 // paged out
}

// Used returns what is in memory, in bytes. Counts below 0, which aren't known, don't count.
func (m Memory) Used() int64 { return max(0, m.Anon) + max(0, m.File) }

// reclaimStep is how much is taken back by one call of the kernel. Small steps are never refused by v1, and each ends within about a
// tenth of a second: so soon can it be interrupted.
const reclaimStep = 64 << 20

// reclaimPatience is how many steps in a row may come to nothing.
const reclaimPatience = 3

// reclaim takes bytes back from a group in small steps. use tells what it uses, and lower makes the kernel reduce that to an amount, as
// far as it can. The error is EBUSY where no more can be taken back.
func reclaim(ctx context.Context, bytes int64, use func() (int64, error), lower func(to int64) error) error {
	now, err := use()
	if err != nil {
		return err
	}
	goal, vain := max(0, now-bytes), 0
	for now > goal {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := lower(max(goal, now-reclaimStep)); err != nil {
			return err
		}
		before := now
		if now, err = use(); err != nil {
			return err
		}
		if now < before {
			vain = 0
		} else if vain++; vain == reclaimPatience {
			return fmt.Errorf("%d of %d bytes can't be taken back: %w", now-goal, bytes, syscall.EBUSY)
		}
	}
	return nil
}

// swap returns the bytes of swap that the machine has.
func swap(t tree) (int64, error) {
	text, err := t.read("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	kb, err := inText("/proc/meminfo", text, "SwapTotal:")
	return kb << 10, err
}

// canReclaim reports whether memory of programs can be taken back, and why if not.
func (d *kernelHandler) canReclaim() (bool, string) {
	const loss = "the memory of suspended containers stays where it is, and counts as held"
	if !d.limiter.swaps() {
		return false, "the kernel doesn't count what groups have paged out: " + loss
	}
	switch n, err := swap(d.tree); {
	case err != nil:
		return false, fmt.Sprintf("%v: %s", err, loss)
	case n == 0:
		return false, "the machine has no swap: " + loss
	}
	return true, ""
}

func (g *kernelGroup) Memory() (Memory, error) {
	m, err := g.d.limiter.memory(g.name)
	return m, g.wrap("measure the memory of", err)
}

// Reclaim first makes the kernel write out memory of suspended processes, in large pieces: with limits alone it looks for pages, and waits for each
// (docs/decisions/suspension-paging.md). Then only the written pages must be freed. Where the kernel refuses the first part, which takes CAP_SYS_NICE,
// limits alone take the memory.
func (g *kernelGroup) Reclaim(ctx context.Context, bytes int64) error {
	if frozen, err := g.Frozen(); err == nil && frozen {
		if err := g.pageOut(ctx, bytes); err != nil && ctx.Err() != nil {
			return g.wrap("page out", err)
		}
	}
	return g.wrap("take memory back from", g.d.limiter.reclaim(ctx, g.name, bytes))
}

// cursor is a place in the memory of a group that is suspended: what lies before it is paged out, as far as that can be. The zero value is
// before everything.
type cursor struct {
	pid int
	at  uint64
}

// from returns the processes in the order in which they are to be paged out: that of the cursor first, and once more at the end, for what
// lies before the cursor and was read back meanwhile.
func (c cursor) from(pids []int) []cursor {
	i := max(0, slices.Index(pids, c.pid))
	out := make([]cursor, 0, len(pids)+1)
	for _, pid := range slices.Concat(pids[i:], pids[:i]) {
		out = append(out, cursor{pid: pid})
	}
	if len(out) > 0 && out[0].pid == c.pid && c.at > 0 {
		out = append(out, out[0])
		out[0].at = c.at
	}
	return out
}

// pageOut has so many bytes of the group's processes written to swap, if they have as many of their own. It continues where the last call has
// found enough: a large group is paged out in parts.
func (g *kernelGroup) pageOut(ctx context.Context, bytes int64) error {
	before, err := g.d.limiter.memory(g.name)
	if err != nil || before.Swapped < 0 {
		return err
	}
	pids, err := g.d.holder.pids(g.name)
	if err != nil {
		return err
	}
	g.mu.Lock()
	places := g.paged.from(pids)
	g.paged = cursor{}
	g.mu.Unlock()
	for _, p := range places {
		at, err := pageOut(ctx, p.pid, p.at, func() error {
			now, err := g.d.limiter.memory(g.name)
			if err == nil && before.Anon-now.Anon >= bytes { // v1 counts as paged out only what is written and let go of
				return errEnough
			}
			return err
		})
		switch {
		case errors.Is(err, errEnough):
			g.mu.Lock()
			g.paged = cursor{p.pid, at}
			g.mu.Unlock()
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

func (g *kernelGroup) PageIn(ctx context.Context) error {
	pids, err := g.d.holder.pids(g.name)
	for _, pid := range pids {
		if err == nil {
			err = pageIn(ctx, pid)
		}
	}
	return g.wrap("page in", err)
}
