package container

import "slices"

// change is a transition from one state to another, or none if it was refused.
type change struct {
	from, to State
	made     bool
}

// transition makes the container's state another one if it is one of from, or whatever it is if from is empty. Commands name the
// states that they are allowed in. The container's own goroutine tells what has happened: it is obeyed, and what the table of
// transitions doesn't have is logged as the defect that it is.
func (c *Container) transition(to State, from ...State) change {
	c.mu.Lock()
	t := c.enter(to, from...)
	c.mu.Unlock()
	c.announce(t)
	return t
}

// enter is transition for callers that hold the lock. announce must follow once the lock is given back.
func (c *Container) enter(to State, from ...State) change {
	t := change{from: c.state, to: to, made: len(from) == 0 || slices.Contains(from, c.state)}
	if t.made {
		c.state = to
	}
	return t
}

// announce logs a transition.
func (c *Container) announce(t change) {
	if !t.made || t.from == t.to {
		return
	}
	if !t.from.mayBecome(t.to) {
		c.log.Errorf("defect: container %s should not become %s: it was %s", c.grant.ID, t.to, t.from)
	}
	if t.from.String() != t.to.String() {
		c.log.Infof("Container %s transitioned from %s to %s", c.grant.ID, t.from, t.to)
	}
	if c.m.Observed != nil {
		c.m.Observed(c, t.from, t.to)
	}
}

// running returns the state of the container while its process runs and nothing is done to it. The lock is held.
func (c *Container) running() State {
	if c.reinit != nil {
		return Reinitializing
	}
	return Running
}

// toRunning makes a container run whose process does, if it is in one of from or from is empty.
func (c *Container) toRunning(from ...State) change {
	c.mu.Lock()
	t := c.enter(c.running(), from...)
	c.mu.Unlock()
	c.announce(t)
	return t
}

// undo takes back a transition to from that came to nothing. One that is to be killed stays: Killing follows.
func (c *Container) undo(from State) {
	var t change
	c.mu.Lock()
	switch {
	case c.record.Kill != nil:
	case from == Resuming:
		t = c.enter(Paused, from)
	default:
		t = c.enter(c.running(), from)
	}
	c.mu.Unlock()
	c.announce(t)
}
