package container

import (
	"context"
	"fmt"
	"syscall"

	"heddle/yarn/pb"
)

// Suspend stops the container's processes where they are, without their noticing, and returns when they have stopped.
// It keeps its memory. Suspending a suspended container is no error.
func (c *Container) Suspend(ctx context.Context) error {
	c.suspending.Lock()
	defer c.suspending.Unlock()
	switch state := c.State(); state {
	case Paused:
		return nil
	case Running:
	default:
		return fmt.Errorf("suspend container %s: it %w but %s", c.ID(), ErrNotRunning, state)
	}
	c.set(Pausing)
	if err := c.Group().Freeze(ctx); err != nil {
		c.set(Running)
		return fmt.Errorf("suspend container %s: %w", c.ID(), err)
	}
	c.suspended(true)
	c.set(Paused)
	c.m.changed()
	return nil
}

// Resume lets a suspended container go on, and returns when it does. Resuming a running container is no error.
func (c *Container) Resume(ctx context.Context) error {
	c.suspending.Lock()
	defer c.suspending.Unlock()
	switch state := c.State(); state {
	case Running:
		return nil
	case Paused:
	default:
		return fmt.Errorf("resume container %s: it %w but %s", c.ID(), ErrNotSuspended, state)
	}
	c.set(Resuming)
	if err := c.Group().Thaw(ctx); err != nil {
		c.set(Paused)
		return fmt.Errorf("resume container %s: %w", c.ID(), err)
	}
	c.suspended(false)
	c.set(Running)
	c.m.changed()
	return nil
}

func (c *Container) suspended(is bool) {
	c.mu.Lock()
	c.record.Suspended = is
	word := "paused"
	if !is {
		word = "resumed"
	}
	c.diagnose(fmt.Sprintf("Container [%s] in [%s] state. The Container has been %s.\n", c.grant.ID, Paused, word))
	c.mu.Unlock()
	c.save()
}

// signals are what the commands of signalToContainer stand for.
var signals = map[pb.SignalContainerCommand]struct {
	signal syscall.Signal
	name   string
}{
	pb.SignalContainerCommand_OUTPUT_THREAD_DUMP: {syscall.SIGQUIT, "SIGQUIT"},
	pb.SignalContainerCommand_GRACEFUL_SHUTDOWN:  {syscall.SIGTERM, "SIGTERM"},
	pb.SignalContainerCommand_FORCEFUL_SHUTDOWN:  {syscall.SIGKILL, "SIGKILL"},
}

// Signal sends the container's processes the signal that a command stands for.
func (c *Container) Signal(command pb.SignalContainerCommand) error {
	s, ok := signals[command]
	if !ok {
		return fmt.Errorf("signal container %s: unknown command %v", c.ID(), command)
	}
	c.mu.Lock()
	session, state := c.session, c.state
	c.mu.Unlock()
	if state != Running && state != Paused || session == nil {
		return fmt.Errorf("signal container %s: it %w but %s", c.ID(), ErrNotRunning, state)
	}
	err := session.Signal(s.signal)
	result := "success"
	if err != nil {
		result = "failed"
	}
	c.Diagnose(fmt.Sprintf("Sent signal %v (%s) to pid %d as user %s for container %s, result=%s\n",
		command, s.name, session.PID(), c.grant.User, c.ID(), result))
	return err
}
