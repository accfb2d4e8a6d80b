package container

import (
	"context"
	"errors"
	"fmt"
	"time"

	"heddle/nm/cgroup"
	"heddle/nm/launch"
	"heddle/yarn/pb"
)

// Suspend stops the container's processes where they are, without their noticing, and returns when they have stopped.
// It keeps its memory. Suspending a suspended container is no error.
//
// What is wanted is on disk before the kernel is told of it: whenever the NodeManager dies, Recover makes the container
// what was wanted last.
func (c *Container) Suspend(ctx context.Context) error {
	x, err := c.command(ctx)
	if err == nil {
		defer x.release()
		err = x.suspend()
	}
	if err != nil {
		return fmt.Errorf("suspend container %s: %w", c.ID(), err)
	}
	return nil
}

func (c command) suspend() error {
	if c.isSuspended() {
		return nil
	}
	if t := c.transition(Pausing, Running, Reinitializing, Paused); !t.made {
		return fmt.Errorf("it %w but %s", ErrNotRunning, t.from.describe())
	}
	err := c.want(true)
	if err == nil {
		err = c.freeze()
	}
	if errors.Is(err, context.Canceled) {
		err = c.interrupted()
	}
	if err != nil {
		c.logged(c.wanted(false))
		c.undo(Pausing)
		return err
	}
	c.suspended("paused")
	return nil
}

// freeze stops the processes of a container that is Pausing.
func (c command) freeze() error {
	return c.withGroup(func(g cgroup.Group) error {
		if err := g.Freeze(c.ctx); err != nil {
			return err
		}
		if t := c.transition(Paused, Pausing); !t.made {
			return fmt.Errorf("it %w but %s", ErrNotRunning, t.from.describe())
		}
		return nil
	}, Pausing)
}

// Resume lets a suspended container go on, and returns when it does. Resuming a running container is no error.
func (c *Container) Resume(ctx context.Context) error {
	x, err := c.command(ctx)
	if err == nil {
		defer x.release()
		err = x.resume()
	} else if state := c.State(); state != Paused {
		err = fmt.Errorf("it %w but %s", ErrNotSuspended, state)
	}
	if err != nil {
		return fmt.Errorf("resume container %s: %w", c.ID(), err)
	}
	return nil
}

func (c command) resume() error {
	switch t := c.transition(Resuming, Paused); {
	case t.made:
	case t.from.is(Running, Reinitializing):
		return nil
	default:
		return fmt.Errorf("it %w but %s", ErrNotSuspended, t.from.describe())
	}
	if c.place.Enter(c.ctx) != nil { // others may use by now what it held
		c.undo(Resuming)
		return c.interrupted()
	}
	if err := c.want(false); err != nil {
		c.wanted(true)
		c.undo(Resuming)
		return err
	}
	err := c.withGroup(func(g cgroup.Group) error {
		if err := g.Thaw(c.ctx); err != nil {
			return err
		}
		if t := c.toRunning(Resuming); !t.made {
			return fmt.Errorf("it %w but %s", ErrNotSuspended, t.from.describe())
		}
		return nil
	}, Resuming)
	if err != nil {
		// That it is to run stays on record. Nobody knows whether it does: whoever asks again has it tried again.
		c.undo(Resuming)
		return err
	}
	c.suspended("resumed")
	return nil
}

// isSuspended reports that the container is, and is to be.
func (c command) isSuspended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state == Paused && c.record.Suspended
}

// want notes down whether the container is to be suspended, and returns when that is on disk.
func (c command) want(suspended bool) error {
	select {
	case err := <-c.wanted(suspended):
		return err
	case <-c.ctx.Done():
		return c.interrupted()
	}
}

// wanted is want for who doesn't wait. It has no effect once the process is being ended: nothing is suspended any more then.
func (c command) wanted(suspended bool) <-chan error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.is(inProcess...) {
		c.record.Suspended = suspended
	}
	return c.begin()
}

// suspended says that a container has been paused or resumed.
func (c command) suspended(word string) {
	c.Diagnose(fmt.Sprintf("Container [%s] in [%s] state. The Container has been %s.\n", c.grant.ID, Paused, word))
	c.logged(c.beginLocked())
	c.m.changed()
}

// settleTime is how long the processes of a container that is taken up again may take to become what they were to be.
const settleTime = 10 * time.Second

// settle makes a container that is taken up again what was wanted when the NodeManager ended: it may have ended before
// it could tell the kernel, or in the middle. What nobody wants frozen is thawed.
func (c life) settle(wanted bool) {
	ctx, cancel := context.WithTimeout(c.ctx, settleTime)
	defer cancel()
	x, err := c.command(ctx)
	if err != nil {
		return // it is to be killed
	}
	defer x.release()
	if wanted {
		if err = x.freeze(); err == nil {
			return
		}
		c.logged(x.wanted(false))
		c.undo(Pausing)
		c.log.WithError(err).Warn("Could not suspend the container again; it runs")
	}
	err = x.withGroup(func(g cgroup.Group) error { return g.Thaw(x.ctx) }, Running)
	if err != nil && c.ctx.Err() == nil {
		c.log.WithError(err).Error("Could not make sure that the container runs: it may be frozen")
	}
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
	if !state.is(observable...) || session == nil {
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
