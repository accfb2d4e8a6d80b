package container

import (
	"context"
	"errors"
	"fmt"
	"time"

	"heddle/nm/launch"
	"heddle/nm/suspend"
	"heddle/nm/turn"
	"heddle/yarn/pb"
)

// Suspend stops the container's processes where they are, without their noticing, and returns when they have stopped. It keeps its
// memory. Suspending a suspended container is no error: it then resumes when all that have suspended it want that.
func (c *Container) Suspend(ctx context.Context) error {
	return suspension{c}.to(ctx, func(x command) error {
		if own := x.wishes().Own; own != nil && own.Level.Still() && x.isSuspended() {
			return nil
		}
		return x.climb(x.ask(&suspend.Order{Level: suspend.Frozen, Held: c.box.Size()}))
	})
}

// ErrCannot says that a container can't be brought to a level.
const ErrCannot = worded("can't be done")

// SuspendTo is Suspend to any level, where the container holds what that leaves. Memory is taken from it after the call, as by Order.
func (c *Container) SuspendTo(ctx context.Context, level suspend.Level, breathEvery time.Duration) error {
	return suspension{c}.to(ctx, func(x command) error {
		size := c.box.Size()
		o := suspend.Order{Level: level, BreathEvery: breathEvery}.Fill(nil, size)
		if err := o.Check(size, x.reclaims()); err != nil {
			return fmt.Errorf("it %w: %w", ErrCannot, err)
		}
		return x.climb(x.ask(&o))
	})
}

func (c suspension) to(ctx context.Context, to func(command) error) error {
	err := c.again(ctx, false, func(x command) error {
		if state := c.State(); !state.is(inProcess...) {
			return fmt.Errorf("it %w but %s", ErrNotRunning, state.describe())
		}
		return to(x)
	})
	if err != nil {
		return fmt.Errorf("suspend container %s: %w", c.ID(), err)
	}
	return nil
}

// ErrHeldByRM says that the ResourceManager has suspended or shrunk a container for others, and alone may resume it.
const ErrHeldByRM = worded("is held by the ResourceManager")

// Resume resumes a container that was suspended or shrunk, with all that it was granted but what the ResourceManager holds back. It returns
// when the container runs. Resuming a running container is no error. The error wraps ErrHeldByRM if only the ResourceManager can do it.
func (c *Container) Resume(ctx context.Context) error {
	err := suspension{c}.again(ctx, false, command.resume)
	if state := c.State(); errors.Is(err, ErrNotRunning) && state != Paused {
		err = fmt.Errorf("it %w but %s", ErrNotSuspended, state)
	}
	if err != nil {
		return fmt.Errorf("resume container %s: %w", c.ID(), err)
	}
	return nil
}

func (c command) resume() error {
	now := c.ladder.State()
	if state := c.State(); state.is(Running, Reinitializing) && now.Have == suspend.Running && !now.Lags() {
		return nil
	} else if !state.is(inProcess...) {
		return fmt.Errorf("it %w but %s", ErrNotSuspended, state.describe())
	}
	w := c.ask(nil)
	if by := w.Order; c.wishes().Own == nil && by.Level != suspend.Running {
		if by.For != "" {
			return fmt.Errorf("it %w: %v for %s until there is room", ErrHeldByRM, by.Level, by.For)
		}
		w = w.Ask(suspend.Order{Held: c.box.Size(), Version: now.Version}) // people have it so, who may do it here as well
	}
	return c.climb(w)
}

// wishes returns what is wanted of the container, ask what is if its own application wants something, or that it runs (nil).
func (c command) wishes() suspend.Wishes {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.record.Wishes
}

func (c command) ask(own *suspend.Order) suspend.Wishes {
	return c.wishes().AskOwn(own, c.box.Size(), c.reclaims())
}

func (c command) reclaims() bool { return c.m.Groups.Capabilities().Reclaim }

// Order brings the container to a level. It returns when the container has the CPU of that level, and is suspended if it is to. Memory is taken from it
// after that (Status.Suspension). An order changes nothing if its version is not above that of the last one, or of the one that is being carried out, unless
// the last one was to resume the container and failed. One that can't be carried out counts as the last one, too.
//
// Wishes are on disk before the kernel is told of them: whenever the NodeManager dies, Recover restores the last wish.
func (c *Container) Order(ctx context.Context, o suspend.Order) error {
	if s := (suspension{c}); !s.takes(o.Version) {
		return nil
	}
	defer suspension{c}.taken(o.Version)
	if err := (suspension{c}).again(ctx, true, func(x command) error { return x.order(o) }); err != nil {
		return fmt.Errorf("bring container %s to level %v: %w", c.ID(), o.Level, err)
	}
	return nil
}

// takes reports whether an order of a version is to be carried out, now.
func (c suspension) takes(version int32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version <= c.ordering {
		return false
	}
	c.ordering = version
	return true
}

func (c suspension) taken(version int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ordering == version {
		c.ordering = 0
	}
}

func (c command) order(o suspend.Order) error {
	if now := c.ladder.State(); o.Version < now.Version || o.Version == now.Version && !now.Stuck() {
		return nil
	}
	if state := c.State(); !state.is(inProcess...) {
		return fmt.Errorf("it %w but %s", ErrNotRunning, state.describe())
	}
	if err := o.Check(c.box.Size(), c.reclaims()); err != nil {
		c.refuse(o.Version, err)
		return err
	}
	return c.climb(c.wishes().Ask(o))
}

// refuse notes that an order of a version is not carried out.
func (c command) refuse(version int32, why error) {
	c.ladder.Refuse(version, why.Error())
	c.mu.Lock()
	last := c.record.ByManager(c.grant.Resource, c.reclaims())
	last.Version = version
	c.record.Wishes = c.record.Ask(last)
	saved := c.begin()
	c.mu.Unlock()
	c.logged(saved)
	c.m.changed()
}

// climb brings the container to the level that comes of what is wanted. On failure it is what it was, as far as that is known.
func (c command) climb(w suspend.Wishes) error {
	o, was := *w.Order, c.wishes()
	before, undo := c.ladder.State(), State(-1) // none
	switch state := c.State(); {
	case o.Level.Still() && !c.isSuspended(): // one that could not be resumed is Paused nevertheless
		undo = Pausing
		if t := c.transition(Pausing, Running, Reinitializing, Paused); !t.made {
			return fmt.Errorf("it %w but %s", ErrNotRunning, t.from.describe())
		}
	case !o.Level.Still() && state == Paused:
		undo = Resuming
		if t := c.transition(Resuming, Paused); !t.made {
			return fmt.Errorf("it %w but %s", ErrNotSuspended, t.from.describe())
		}
	case !state.is(inProcess...):
		return fmt.Errorf("it %w but %s", ErrNotRunning, state.describe())
	}
	err := c.admitted(o, before)
	if err == nil {
		err = c.want(w)
	}
	if err != nil {
		c.logged(c.wanted(was))
		c.undo(undo)
		return err
	}
	if err = c.ladder.Step(c.ctx, o); err != nil {
		if errors.Is(err, context.Canceled) {
			err = c.interrupted()
		}
		if undo == Pausing {
			c.logged(c.wanted(was))
			_ = c.ladder.Step(c.ctx, before.Order) // it runs, and has what it had
		}
		// That one is to run stays on record. The result is unknown: a repeated call tries again.
		c.undo(undo)
		return err
	}
	switch undo {
	case Pausing:
		c.suspended("paused")
	case Resuming:
		c.suspended("resumed")
	}
	c.arrived()
	return nil
}

// admitted waits until the node has room for what a container is to hold, if that is more than it holds: others may use the rest by now.
func (c command) admitted(o suspend.Order, before suspend.State) error {
	if o.Level.Still() || o.Held.MemoryMB() <= before.Holds.MemoryMB() && c.State() != Resuming {
		return nil
	}
	ctx, done := c.turns.Yield(c.ctx, turn.Change) // a caller that no longer wants it to resume doesn't wait for room
	defer done()
	switch {
	case c.place.Enter(ctx) == nil:
		return nil
	case c.ctx.Err() != nil:
		return c.interrupted()
	}
	return fmt.Errorf("it doesn't fit yet, and %w", errOvertaken)
}

// errOvertaken says that a command has given way to a later one.
var errOvertaken = errors.New("something else was asked for meanwhile")

// arrived is called when the container has the CPU of its level.
func (c command) arrived() {
	s := suspension{c.Container}.updateAdmission()
	every := s.BreathEvery
	if !s.Level.Still() {
		every = 0
		setYielded(c.Container, false)
	}
	c.m.breathe(c.Container, every)
	if s.Level.Still() {
		c.m.vigil.Begin(c.m.ctx, c.m.background, c.m.watchStill)
	}
	if s.Lags() || s.Ahead || s.Squeezed(c.box.Size()) {
		suspension{c.Container}.settle()
	}
	c.m.changed()
}

// isSuspended reports that the container is, and is to be.
func (c command) isSuspended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state == Paused && c.record.Suspended
}

// want notes down what the container is to be, and returns when that is on disk.
func (c command) want(w suspend.Wishes) error {
	select {
	case err := <-c.wanted(w):
		return err
	case <-c.ctx.Done():
		return c.interrupted()
	}
}

// wanted is want for callers that don't wait. It has no effect once the process is being ended: nothing is suspended any more then.
func (c command) wanted(w suspend.Wishes) <-chan error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.is(inProcess...) {
		c.record.Wishes = w
	}
	return c.begin()
}

// suspended says that a container has been paused or resumed.
func (c command) suspended(word string) {
	c.Diagnose(fmt.Sprintf("Container [%s] in [%s] state. The Container has been %s.\n", c.grant.ID, Paused, word))
	c.logged(c.beginLocked())
	c.m.changed()
}

// Signal sends the container's processes the signal that a command stands for.
func (c *Container) Signal(command pb.SignalContainerCommand) error {
	signal, name, err := launch.SignalOf(command)
	if err != nil {
		return fmt.Errorf("signal container %s: %w", c.ID(), err)
	}
	c.mu.Lock()
	session, state := c.session, c.state
	c.mu.Unlock()
	if !state.is(inProcess...) || session == nil {
		return fmt.Errorf("signal container %s: it %w but %s", c.ID(), ErrNotRunning, state)
	}
	err = session.Signal(signal)
	result := "success"
	if err != nil {
		result = "failed"
	}
	c.Diagnose(fmt.Sprintf("Sent signal %v (%s) to pid %d as user %s for container %s, result=%s\n",
		command, name, session.PID(), c.grant.User, c.ID(), result))
	return err
}
