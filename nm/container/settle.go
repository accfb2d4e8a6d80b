package container

import (
	"context"
	"errors"
	"time"

	"heddle/nm/cgroup"
	"heddle/nm/makeway"
	"heddle/nm/suspend"
	"heddle/nm/turn"
	"heddle/yarn/records"
)

// suspension has the methods that suspend, shrink and resume a container.
type suspension struct{ *Container }

// settlePause is how long a container keeps memory that could not be taken from it, until that is tried again.
const settlePause = 5 * time.Second

// settle pages out, in the background, the memory that the container isn't to hold, and watches the container while it runs with little.
// Commands come before that.
func (c suspension) settle() {
	c.mu.Lock()
	already := c.settling
	c.settling = true
	c.mu.Unlock()
	if already {
		select {
		case c.unsettled <- struct{}{}:
		default:
		}
		return
	}
	c.m.background(func() {
		for c.settleOnce() {
			select {
			case <-time.After(c.m.settlePause):
			case <-c.unsettled:
			case <-c.ctx.Done():
			}
		}
	})
}

// settleOnce reports whether something was left to do, and should be tried again in a while.
func (c suspension) settleOnce() (again bool) {
	for {
		x, err := c.turn(c.ctx, turn.Chore)
		if err != nil {
			return c.settled() // it is to end
		}
		ctx, done := c.turns.Yield(x.ctx, turn.Breath)
		lagged := c.ladder.State().Lags()
		if err = c.ladder.Settle(ctx); err == nil {
			err = c.ladder.Relieve(ctx)
		}
		yielded := ctx.Err() != nil && x.ctx.Err() == nil
		done()
		s := c.updateAdmission()
		if !s.Lags() && !s.Squeezed(c.box.Size()) || x.ctx.Err() != nil {
			defer x.release()
			return c.settled()
		}
		x.release()
		if yielded {
			continue // an operation that came meanwhile is served first
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			c.log.WithError(err).Warnf("could not bring the container to level %v; trying again in %v", s.Level, c.m.settlePause)
		}
		if lagged || s.Lags() {
			c.m.changed()
		}
		return true
	}
}

// updateAdmission reports to the admission control what the container holds, and whether it is idle (suspended, or without vcores) with all paged out that can be.
func (c suspension) updateAdmission() suspend.State {
	s := c.ladder.State()
	idle, holds := s.Have.Still() || s.Have != suspend.Running && s.Holds.VCores() == 0, s.Holds
	if s.Have == suspend.Frozen && c.Yielded() { // the node can't take its memory; others are let in nevertheless
		holds = records.Resource{}
	}
	c.place.Stand(c.box.Size(), holds, idle && !s.Warm && (!s.Lags() || s.Reason != ""))
	return s
}

// settled records that the container is no longer being settled. A caller that settles it again waits for the command to end.
func (c suspension) settled() bool {
	c.mu.Lock()
	c.settling = false
	c.mu.Unlock()
	c.m.changed()
	return false
}

// breathe has a container that is suspended run for a moment at a period; 0: never again.
func (m *Manager) breathe(c *Container, every time.Duration) {
	if every > 0 {
		m.inhale.Do(func() { m.background(func() { m.breaths.Run(m.ctx) }) })
	}
	m.breaths.Set(c.ID().String(), every, suspension{c}.breathe)
}

// breathe lets the container run for a moment, unless an operation is under way: then it breathes another time. Paging out, which may take minutes,
// is interrupted.
func (c suspension) breathe(ctx context.Context, allowance int64) {
	if c.turns.Blocks(turn.Breath) {
		c.m.breaths.Again(c.ID().String())
		return
	}
	x, err := c.turn(ctx, turn.Breath)
	if err != nil {
		return
	}
	defer x.release()
	stop, done := c.turns.Yield(x.ctx, turn.Change)
	defer done()
	if err := c.ladder.Breathe(x.ctx, allowance, stop.Done()); err != nil && x.ctx.Err() == nil {
		c.log.WithError(err).Warn("the suspended container could not run for a moment")
	}
	s := c.ladder.State()
	if s.Again {
		c.m.breaths.Again(c.ID().String())
	}
	if s.Lags() {
		c.settle()
	}
}

// watchStill looks after containers that are suspended, and reports whether there are any.
func (m *Manager) watchStill() (any bool) {
	for _, c := range m.Containers() {
		if c.State() == Paused {
			suspension{c}.watch(m.ctx)
			any = true
		}
	}
	return any
}

// watch looks after a container that is suspended, unless an operation is under way: then it does so another time.
func (c suspension) watch(ctx context.Context) {
	if c.turns.Blocks(turn.Chore) {
		return
	}
	x, err := c.turn(ctx, turn.Chore)
	if err != nil {
		return
	}
	defer x.release()
	if !x.isSuspended() {
		return
	}
	found, err := c.ladder.Watch(x.ctx)
	for _, what := range found {
		c.log.Warnf("the suspended container was changed from outside: %s", what)
	}
	if err != nil && x.ctx.Err() == nil {
		c.log.WithError(err).Warn("could not check the suspended container")
	}
	if c.ladder.State().Lags() {
		c.settle()
		c.m.changed()
	}
}

// Ahead says whether room waits for the return of a container that is suspended. Its paged-out memory is read then, and taken again when others wait
// for room, and after suspend.WarmTime.
func (m *Manager) Ahead(c *Container, room bool) {
	if room && !m.Pressure.Spares(c.ladder.State().Swapped) {
		return
	}
	said := time.Now()
	suspension{c}.inTurn(func() { c.ladder.Await(room && !m.room.Awaited(), said) })
	if room {
		time.AfterFunc(suspend.WarmTime, func() { suspension{c}.inTurn(c.ladder.Expire) })
	}
}

// inTurn changes what the ladder is to do, in the background.
func (c suspension) inTurn(change func()) {
	c.m.background(func() {
		if x, err := c.turn(c.ctx, turn.Change); err == nil {
			defer x.release()
			change()
			c.settle()
		}
	})
}

// cool takes back what was read ahead, as others wait for room.
func cool(m *Manager) {
	for _, c := range m.Containers() {
		if c.State() == Paused && c.ladder.State().Warm {
			m.Ahead(c, false)
		}
	}
}

// unsuspend notes that the processes from which something was taken are no more. The lock is not held.
func (c suspension) unsuspend() {
	c.mu.Lock()
	c.record.Wishes = c.record.Reset(c.grant.Resource)
	c.mu.Unlock()
	c.box.Release()
	c.ladder.Reset()
	c.m.breathe(c.Container, 0)
}

// Suspensions are sums over all containers.
func (m *Manager) Suspensions() *suspend.Totals { return &m.ladders.Totals }

// Rates returns how quickly containers are paged out and in, in bytes a second; 0: not known yet.
func (m *Manager) Rates() (out, in int64) { return m.ladders.Rates.Get() }

// settleTime is how long the processes of a container that is taken up again may take to become what they were to be.
const settleTime = 10 * time.Second

// settleTries is how often more that is tried with a container that is to be suspended. A node that takes up hundreds of containers on a busy machine needs
// longer for some of them, and others may have the memory of one that would run instead.
const settleTries = 30

func thaw(ctx context.Context, g cgroup.Group) error {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	return g.Thaw(ctx)
}

// recoverLevel makes a container that is taken up again what was wanted when the NodeManager ended: it may have ended before
// it could tell the kernel, or in the middle. A group without a wish to freeze it is thawed.
func (c life) recoverLevel(o suspend.Order) {
	x, err := c.command(c.ctx)
	if err != nil {
		return // it is to be killed
	}
	defer x.release()
	step := func(o suspend.Order) error {
		ctx, cancel := context.WithTimeout(x.ctx, settleTime)
		defer cancel()
		return c.ladder.Step(ctx, o)
	}
	goesOn := func(o suspend.Order) (err error) {
		if err = x.withGroup(func(g cgroup.Group) error { return thaw(x.ctx, g) }, Running); err == nil {
			err = step(o)
		}
		if err != nil && c.ctx.Err() == nil {
			c.log.WithError(err).Error("could not make sure that the container runs: it may be frozen")
		}
		return err
	}
	if o.Level.Still() {
		err = step(o)
		for range settleTries {
			if !errors.Is(err, context.DeadlineExceeded) || x.ctx.Err() != nil {
				break
			}
			c.log.WithError(err).Warn("it takes long to suspend the container again")
			err = step(o)
		}
	} else {
		err = goesOn(o)
	}
	switch {
	case err == nil:
		x.arrived()
		c.m.background(func() { makeway.Return(suspension(c), c.log) })
	case o.Level.Still():
		running := suspend.Order{Held: c.box.Size(), Version: o.Version}
		c.logged(x.wanted(suspend.Wishes{}.Ask(running)))
		c.undo(Pausing)
		c.log.WithError(err).Warn("could not suspend the container again; it runs")
		_ = goesOn(running)
	}
}
