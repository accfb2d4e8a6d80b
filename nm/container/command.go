package container

import (
	"context"
	"fmt"

	"heddle/nm/cgroup"
	"heddle/nm/turn"
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
	return suspension{c}.turn(ctx, turn.Command)
}

func (c suspension) turn(ctx context.Context, u turn.Urgency) (command, error) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.ctx, cancel)
	x := command{Container: c.Container, ctx: ctx}
	if c.turns.Take(ctx, u) != nil {
		defer cancel()
		stop()
		return x, x.interrupted()
	}
	x.release = func() {
		c.turns.Leave()
		stop()
		cancel()
	}
	return x, nil
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
