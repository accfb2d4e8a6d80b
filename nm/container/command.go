package container

import (
	"context"
	"fmt"

	"heddle/nm/cgroup"
)

// A container's group is written to by commands, which suspend, resume and resize, and by the container's own goroutine,
// which starts and ends its processes. Two locks keep them apart:
//
//   - commanding is held during a command, so that they come one after the other. It may be held over writes to the
//     disk. The container's goroutine never takes it: a kill waits for no disk.
//   - writing is held while the group is written to. Only the kernel is waited for then, and what a command waits for is
//     cut short by a kill.

// command waits for the turn of a command. The context that it returns ends with ctx, and when the container is to be
// killed. release has to be called at the end.
func (c *Container) command(ctx context.Context) (_ context.Context, release func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.ctx, cancel)
	select {
	case c.commanding <- struct{}{}:
		return ctx, func() {
			<-c.commanding
			stop()
			cancel()
		}, nil
	case <-ctx.Done():
		defer cancel()
		stop()
		return nil, nil, c.interrupted(ctx)
	}
}

// interrupted is why a command was cut short.
func (c *Container) interrupted(ctx context.Context) error {
	if c.ctx.Err() != nil {
		return fmt.Errorf("it %w but about to end: %w", ErrNotRunning, ctx.Err())
	}
	return ctx.Err()
}

// withGroup calls f, which may write to the group, while the container is in one of these states and has processes. The
// group is nil before the first are started. When it returns the container is in the same state, unless f changes it, or
// is being ended.
func (c *Container) withGroup(ctx context.Context, f func(cgroup.Group) error, states ...State) error {
	select {
	case c.writing <- struct{}{}:
	case <-ctx.Done():
		return c.interrupted(ctx)
	}
	defer func() { <-c.writing }()
	c.mu.Lock()
	group, state := c.group, c.state
	c.mu.Unlock()
	if !state.is(states...) {
		return fmt.Errorf("it %w but %s", ErrNotRunning, state.describe())
	}
	return f(group)
}
