package container

import (
	"context"
	"fmt"

	"heddle/nm/cgroup"
)

// command is the turn of somebody who wants a container suspended, resumed or resized. Such commands come one after the other: the
// next one begins when release was called. A command may wait for the disk. It is cut short by a kill.
type command struct {
	*Container
	ctx     context.Context // ends when the container is to be killed, too
	release func()
}

// command waits for a command's turn.
func (c *Container) command(ctx context.Context) (command, error) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.ctx, cancel)
	x := command{Container: c, ctx: ctx}
	suspension{c}.wait(1)
	defer suspension{c}.wait(-1)
	select {
	case c.commanding <- struct{}{}:
		x.release = func() {
			<-c.commanding
			stop()
			cancel()
		}
		return x, nil
	case <-ctx.Done():
		defer cancel()
		stop()
		return x, x.interrupted()
	}
}

// wait counts those who wait for a command's turn, and has what gives way to them end.
func (c suspension) wait(more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting += more; more > 0 && c.hurry != nil {
		c.hurry()
	}
}

// yielding returns a context for the part of a command that gives way to the next one. done has to follow.
func (c command) yielding() (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(c.ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hurry = cancel; c.waiting > 0 {
		cancel()
	}
	return ctx, func() {
		c.mu.Lock()
		c.hurry = nil
		c.mu.Unlock()
		cancel()
	}
}

// interrupted is why a command was cut short.
func (c command) interrupted() error {
	if c.Container.ctx.Err() != nil {
		return fmt.Errorf("it %w but about to end: %w", ErrNotRunning, c.ctx.Err())
	}
	return c.ctx.Err()
}

// withGroup calls f, which may write to the group, while the container is in one of these states and has processes. The
// group is nil before the first are started. When it returns the container is in the same state, unless f changes it, or
// is being ended.
func (c command) withGroup(f func(cgroup.Group) error, states ...State) error {
	if c.box.Lock(c.ctx) != nil {
		return c.interrupted()
	}
	defer c.box.Unlock()
	if state := c.State(); !state.is(states...) {
		return fmt.Errorf("it %w but %s", ErrNotRunning, state.describe())
	}
	return f(c.box.Group())
}
