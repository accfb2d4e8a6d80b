package container

import (
	"errors"

	"heddle/nm/admission"
	"heddle/nm/allocation"
	"heddle/nm/makeway"
	"heddle/nm/suspend"
	"heddle/yarn/pb"
)

// yieldsBy returns what makes way for guaranteed containers, of a container that is opportunistic.
func yieldsBy(c *Container, g allocation.Grant) func() {
	if g.ExecutionType != pb.ExecutionType_OPPORTUNISTIC {
		return nil
	}
	makes := func() { makeway.Do(suspension{c}, c.m.cfg.PauseOpportunistic, c.log) }
	return func() { go c.m.background(makes) } // the caller may hold the manager's lock
}

// GiveWay implements makeway.Container, as do the following. Memory is taken where the node can do that; elsewhere the container keeps it, as on YARN.
func (c suspension) GiveWay() error {
	return c.again(c.ctx, true, func(x command) (err error) {
		if c.place.Guaranteed() { // promoted meanwhile
			return nil
		}
		o := suspend.Order{Level: suspend.Frozen, Held: c.box.Size(), For: "guaranteed containers"}
		if x.reclaims() {
			o = suspend.Order{Level: suspend.Reclaimed, For: o.For}.Fill(nil, c.box.Size())
		}
		setYielded(c.Container, true)
		if err = x.climb(x.ask(&o)); err != nil {
			setYielded(c.Container, false)
		}
		return err
	})
}

func (c suspension) ComeBack() (overtaken bool, err error) {
	if err = c.place.Enter(c.ctx); err != nil { // it stays PAUSED until there is room
		return false, err
	}
	err = c.again(c.ctx, true, func(x command) (err error) {
		if c.Yielded() { // else another command has resumed it
			err = x.climb(x.ask(nil))
		}
		return err
	})
	return errors.Is(err, errOvertaken), err
}

func (c suspension) Yielded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.record.Yielded
}

func (c suspension) Ends() bool { return c.ctx.Err() != nil }

// setYielded notes whether the container makes way; that is on disk with its level.
func setYielded(c *Container, does bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.record.Yielded = does
}

// Room returns what the node has for containers, and who has it.
func (m *Manager) Room() *admission.Room { return m.room }
