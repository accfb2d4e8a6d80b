package container

import (
	"context"
	"errors"
	"fmt"

	"heddle/nm/cgroup"
	"heddle/nm/turn"
)

// command is a turn to suspend, resume or resize a container. They come one after the other: the next one begins when release was called.
// A command may wait for the disk. It is cut short by a kill.
type command struct {
	*Container
	ctx     context.Context // ends when the container is to be killed, too
	release func()
}

// command waits for a command's turn.
func (c *Container) command(ctx context.Context) (command, error) {
	return suspension{c}.turn(ctx, turn.Command)
}

func (c suspension) turn(ctx context.Context, u turn.Urgency) (x command, err error) {
	x.Container = c.Container
	if x.ctx, x.release, err = c.turns.Begin(ctx, c.ctx, u); err != nil {
		err = x.interrupted()
	}
	return x, err
}

// again calls f in a turn of its own, and once more after whatever it has given way to. It lets a later command have the last word, unless it insists.
func (c suspension) again(ctx context.Context, insists bool, f func(command) error) (err error) {
	for turns := 0; ; {
		x, ended := c.command(ctx)
		if ended != nil {
			return ended
		}
		now := c.turns.Taken(turn.Command)
		late := turns > 0 && now > turns+1 && !insists
		if !late {
			err = f(x)
		}
		if x.release(); late || !errors.Is(err, errOvertaken) {
			return err
		}
		turns = now
	}
}

// interrupted returns why a command was cut short.
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
