package container

import (
	"context"
	"fmt"
	"slices"

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
	group, state, ended := c.group, c.state, c.ended
	c.mu.Unlock()
	if ended || !slices.Contains(states, state) {
		return fmt.Errorf("it %w but %s", ErrNotRunning, describe(state, ended))
	}
	return f(group)
}

// describe names a state for people: a container whose process has just ended may still be said to be RUNNING.
func describe(s State, ended bool) string {
	if ended && (s == Running || s == Paused || s == Pausing || s == Resuming) {
		return "has just ended"
	}
	return s.String()
}

// transition changes the state if it is one of from and the container has not ended. It returns the state before.
func (c *Container) transition(to State, from ...State) (was State, ok bool) {
	c.mu.Lock()
	was = c.state
	ok = !c.ended && slices.Contains(from, was) && was.mayBecome(to)
	if ok {
		c.state = to
	}
	c.mu.Unlock()
	if ok && was != to {
		c.log.Infof("Container %s transitioned from %s to %s", c.grant.ID, was, to)
	}
	return was, ok
}
