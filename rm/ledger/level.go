package ledger

import (
	"fmt"

	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// A container has two amounts. Its claim (Container.Resource) is what its application, user and queue are charged. Its held amount is what
// it takes of its node, and what the node is charged. The two differ only while a level other than RUNNING is wanted. As few containers are
// at such a level, what they hold stands outside of them.

// Held returns what a live container takes of its node now.
func (c *Container) Held() records.Resource {
	if h := c.extra().held; h != nil {
		return *h
	}
	return c.Resource
}

// guaranteed returns an amount of a live container, nothing of an opportunistic one: its node isn't charged for it, nor, as in YARN, its application.
func (c *Container) guaranteed(r records.Resource) records.Resource {
	if c.ExecutionType == pb.ExecutionType_OPPORTUNISTIC {
		return records.Resource{}
	}
	return r
}

func (c *Container) taken() records.Resource { return c.guaranteed(c.Held()) }

// Room returns what the node of a live container offers to all, and what of that is free.
func (c *Container) Room() (offered, free records.Resource) {
	if c.node == nil {
		return offered, free
	}
	return c.node.Capability, c.node.Capability.Sub(c.node.Used).Max(records.Resource{})
}

// Suspended reports whether the container is to be suspended.
func (c *Container) Suspended() bool {
	return c.Level == ledgerpb.Level_FROZEN || c.Level == ledgerpb.Level_RECLAIMED
}

// Starved reports whether the container is suspended, or runs with no vcore at all, of which its node leaves it a hundredth. Its application
// is to expect nothing of it then.
func (c *Container) Starved() bool {
	return c.Suspended() || c.Held().VCores() == 0 && c.Resource.VCores() > 0
}

// ChangeLevel returns the command by which a live container goes to a level, and holds so much then. The cause is of a level other than
// RUNNING; before CauseVersion there must be none.
func (c *Container) ChangeLevel(level ledgerpb.Level, held records.Resource, cause Cause) *ledgerpb.Command {
	change := &ledgerpb.ContainerLevelChanged{Container: ContainerRef(c.ID), Level: level, Version: c.LevelVersion + 1}
	if held != c.Resource {
		change.Held = Amounts(held)
	}
	if level != ledgerpb.Level_RUNNING && cause != (Cause{}) {
		change.Cause = cause.record()
	}
	return &ledgerpb.Command{ContainerLevelChanged: change}
}

// setLevel changes the level and what is held. The sums of the node are the caller's business.
func (c *Container) setLevel(level ledgerpb.Level, held records.Resource) {
	c.changeLevel(level)
	e := c.extra()
	if e.held == nil && held == c.Resource {
		return
	}
	e.held = nil
	if held != c.Resource {
		amount := held
		e.held = &amount
	}
	c.setExtras(e)
}

// changeLevel changes the level alone.
func (c *Container) changeLevel(level ledgerpb.Level) {
	c.countLevel(-1)
	c.Level = level
	c.countLevel(1)
}

// countLevel adds n to its node's counts of suspended, and of suspended and shrunk containers if it lives and is one.
func (c *Container) countLevel(n int) {
	if c.node == nil || c.Level == ledgerpb.Level_RUNNING {
		return
	}
	c.node.Lowered += n
	if c.Suspended() {
		c.node.Suspended += n
	}
}

// checkLevel returns why a container can't be at a level and hold so much then, or nil.
func (c *Container) checkLevel(level ledgerpb.Level, held records.Resource) error {
	switch {
	case ledgerpb.Level_name[int32(level)] == "":
		return fmt.Errorf("%v: unknown level %d", c.ID, level)
	case held == c.Resource:
		return nil
	case level == ledgerpb.Level_RUNNING:
		return fmt.Errorf("%v holds %v, and can't run with less than its claim of %v: that is level %v", c.ID, held, c.Resource, ledgerpb.Level_SHRUNK)
	case !held.FitsIn(c.Resource) || held != held.Max(records.Resource{}):
		return fmt.Errorf("%v can't hold %v: its claim is %v", c.ID, held, c.Resource)
	}
	return nil
}

// containerLevelChanged takes each change of a container's level once, in the order of their versions. One that was made already, or
// that a later one has replaced, changes nothing.
func (s *State) containerLevelChanged(now int64, c *ledgerpb.ContainerLevelChanged) error {
	_, cont, err := s.container(c.GetContainer())
	switch {
	case err != nil:
		return err
	case s.Version < 3:
		return fmt.Errorf("%v can't change its level: the ledger has version %d, and this needs 3", cont.ID, s.Version)
	case !cont.Live():
		return fmt.Errorf("%v completed already", cont.ID)
	}
	held := cont.Resource
	if c.GetHeld() != nil {
		held = amounts(c.GetHeld())
	}
	switch next := cont.LevelVersion + 1; {
	case c.GetVersion() > next || c.GetVersion() < 1:
		return fmt.Errorf("%v can't take version %d of its level: the next is %d", cont.ID, c.GetVersion(), next)
	case c.GetVersion() < next:
		return nil
	}
	if err := cont.checkLevel(c.GetLevel(), held); err != nil {
		return err
	}
	was := cont.Level
	cont.node.Used = cont.node.Used.Sub(cont.taken())
	cont.setLevel(c.GetLevel(), held)
	cont.node.Used = cont.node.Used.Add(cont.taken())
	cont.LevelVersion++
	switch {
	case c.GetLevel() == ledgerpb.Level_RUNNING:
		cont.endSuspension(now)
	case s.Version >= CauseVersion && (was == ledgerpb.Level_RUNNING || c.GetCause() != nil || cont.Suspension().Since > 0):
		// For a container that was suspended before that version, for an unknown beneficiary, nothing is recorded before it has resumed.
		cont.beSuspended(now, causeOf(c.GetCause()))
	}
	return nil
}

// containersSuspended applies the command that froze and resumed containers before version 3. They hold what they held.
func (s *State) containersSuspended(refs []*ledgerpb.ContainerRef, suspended bool) error {
	level := ledgerpb.Level_RUNNING
	if suspended {
		level = ledgerpb.Level_FROZEN
	}
	return s.each(refs, func(_ *Application, cont *Container) error {
		if !cont.Live() {
			return fmt.Errorf("%v completed already", cont.ID)
		}
		if err := cont.checkLevel(level, cont.Held()); err != nil {
			return err
		}
		cont.changeLevel(level)
		return nil
	})
}
