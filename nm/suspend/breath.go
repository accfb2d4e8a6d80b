package suspend

import (
	"context"
	"errors"
	"syscall"
	"time"

	"heddle/yarn/records"
)

// A breath lasts until the container's heartbeats have gone out: until each connection on which it sent something shortly before it was stopped has
// sent something again, and has heard the answer. It lasts for longest at most, or for extended while such a connection is silent and the container
// works or waits for its memory.
//
// Where no connection is known, a breath lasts until the container is idle: for two looks in a row it has used next to no CPU and read nothing back
// from swap, and no thread of it waits for a processor or a disk. One that is never idle runs for longest: time enough for an executor of Spark to page
// in the thread that sends its heartbeats.
//
// A container that has used little CPU may be a Java process that starts, and has sent nothing yet. Seconds that are far apart would not get it there
// before MapReduce gives its task up. So its breath lasts as long as it works, up to extended, or to longest if others wait, and the next one comes soon.
const (
	shortestBreath = 200 * time.Millisecond
	longestBreath  = time.Second
	extendedBreath = 5 * time.Second
	beginning      = 10 * time.Second // of CPU
	look           = 50 * time.Millisecond
	idleCPU        = 2 * time.Millisecond // used between two looks
	idlePaging     = 1 << 20              // bytes read between two looks
)

// Breathe lets a container that is suspended run for a moment, with so many bytes on top of what it holds. stop ends the breath early. It
// returns when the container is suspended again with what it held, or with an error when ctx, which a kill ends, has ended.
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
		// EBUSY: it has more than that already, which can't be taken from it.
		if err := l.p.Hold(ctx, open, true); err != nil && !errors.Is(err, syscall.EBUSY) {
			return err
		}
	}
	l.mu.Lock()
	l.state.LastBreath, l.state.Again = time.Now(), false
	l.mu.Unlock()
	heard := l.beats.listen(l.p)
	cpu, _ := l.p.CPU()
	begun := time.Now()
	err := l.p.Thaw(ctx)
	if err == nil {
		l.inhale(ctx, stop, heard)
		err = l.p.Freeze(ctx)
		l.exhaled(begun, cpu)
	}
	if !squeezed {
		return err
	}
	// Its use must be taken back. Until then the state is what it is after a freeze.
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

// exhaled notes that a breath is over, which began when the container had used so much CPU.
func (l *Ladder) exhaled(begun time.Time, cpu time.Duration) {
	l.beats.stopped = time.Now()
	l.node.Totals.Breath.add(begun)
	if now, err := l.p.CPU(); err == nil && now > cpu {
		l.node.Totals.BreathCPU.Add(int64(now - cpu))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.Breathed = time.Since(begun)
}

// again notes whether the next breath is to come soon.
func (l *Ladder) again(soon bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.Again = soon
}

// inhale returns when a running container is idle, has run for as long as it may, or is to stop. heard is nil where nothing is known of its
// connections.
func (l *Ladder) inhale(ctx context.Context, stop <-chan struct{}, heard *listening) {
	if fixed := l.node.BreathLength; fixed > 0 {
		l.again(false)
		over := time.NewTimer(fixed)
		defer over.Stop()
		select {
		case <-ctx.Done():
		case <-stop:
		case <-over.C:
		}
		return
	}
	begins := false // and has something to do
	defer func() { l.again(heard != nil && heard.end() || begins) }()
	end := time.NewTimer(extendedBreath)
	defer end.Stop()
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	begun, quiet := time.Now(), 0
	cpu, swapped, known := l.look()
	for {
		select {
		case <-ctx.Done():
			heard, begins = nil, false // it was cut short
			return
		case <-stop:
			heard, begins = nil, false
			return
		case <-end.C:
			return
		case <-ticker.C:
		}
		c, s, ok := l.look()
		if ok && known && c-cpu < idleCPU && swapped-s < idlePaging && !l.p.Working() {
			quiet++
		} else {
			quiet = 0
		}
		cpu, swapped, known = c, s, ok
		lasted := time.Since(begun)
		idle := quiet >= 2
		begins = ok && c < beginning && !idle
		switch {
		case begins && (lasted < longestBreath || !l.node.others()):
		case heard == nil && (idle && lasted >= shortestBreath || lasted >= longestBreath):
			return
		case heard != nil && (heard.done() || idle && lasted >= longestBreath):
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
