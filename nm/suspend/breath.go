package suspend

import (
	"context"
	"time"

	"heddle/yarn/records"
)

// A breath lasts until a container has done what there was to do, as far as one can see from outside: for two looks in a row it has
// used next to no CPU, and has read nothing back from swap. One that always has something to do runs for longest. That much an executor
// of Spark takes to page in the thread that sends its heartbeats, and to send one.
const (
	shortestBreath = 200 * time.Millisecond
	longestBreath  = time.Second
	look           = 50 * time.Millisecond
	idleCPU        = 2 * time.Millisecond // used between two looks
	idlePaging     = 1 << 20              // bytes read between two looks
)

// Breathe lets a container that stands still run for a moment, with so many bytes on top of what it holds. stop ends the breath early. It
// returns when the container stands still again with what it held, or with an error when ctx, which a kill ends, has ended.
func (l *Ladder) Breathe(ctx context.Context, allowance int64, stop <-chan struct{}) error {
	s := l.State()
	if !s.Have.Still() || !s.Level.Still() {
		return nil
	}
	size := l.p.Size()
	squeezed := s.Holds.MemoryMB() < size.MemoryMB()
	if squeezed {
		open := size
		open[records.Memory] = min(size.MemoryMB(), s.Holds.MemoryMB()+allowance>>20)
		if err := l.p.Hold(ctx, open, true); err != nil {
			return err
		}
	}
	l.mu.Lock()
	l.state.LastBreath = time.Now()
	l.mu.Unlock()
	err := l.p.Thaw(ctx)
	if err == nil {
		l.inhale(ctx, stop)
		err = l.p.Freeze(ctx)
	}
	if !squeezed {
		return err
	}
	// What it has used has to be taken back. Until then the state is what it is after a freeze.
	l.mu.Lock()
	l.state.Holds, l.state.Have = size, Frozen
	l.mu.Unlock()
	if err == nil {
		err = l.Settle(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state.Have == s.Have {
		l.state.Since = s.Since
	}
	return err
}

// inhale returns when a container that runs has nothing more to do, has run for longest, or is to stop.
func (l *Ladder) inhale(ctx context.Context, stop <-chan struct{}) {
	end := time.NewTimer(longestBreath)
	defer end.Stop()
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	begun, quiet := time.Now(), 0
	cpu, swapped, known := l.look()
	for {
		select {
		case <-ctx.Done():
			return
		case <-stop:
			return
		case <-end.C:
			return
		case <-ticker.C:
		}
		c, s, ok := l.look()
		if ok && known && c-cpu < idleCPU && swapped-s < idlePaging {
			quiet++
		} else {
			quiet = 0
		}
		cpu, swapped, known = c, s, ok
		if quiet >= 2 && time.Since(begun) >= shortestBreath {
			return
		}
	}
}

// look returns the CPU time that a container has used, and how many bytes of it are paged out.
func (l *Ladder) look() (cpu time.Duration, swapped int64, ok bool) {
	cpu, err := l.p.CPU()
	if err != nil || cpu < 0 {
		return 0, 0, false
	}
	m, err := l.p.Memory()
	return cpu, m.Swapped, err == nil
}
