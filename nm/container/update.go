package container

import (
	"context"
	"errors"
	"fmt"

	"heddle/nm/allocation"
	"heddle/nm/cgroup"
	"heddle/nm/gpu"
	"heddle/nm/turn"
	"heddle/yarn/records"
)

// ErrVersion says that a change of a container's size came after a later one.
var ErrVersion = errors.New("a later version is in effect")

// staleVersion is an ErrVersion in Hadoop's words.
type staleVersion struct {
	id         records.ContainerID
	have, want int32
}

func (e *staleVersion) Error() string {
	return fmt.Sprintf("Container %s has update version [%d] >= requested version [%d]", e.id, e.have, e.want)
}

func (e *staleVersion) Unwrap() error { return ErrVersion }

// Update gives the container another size or execution type, as its token of a higher version says.
//
// The token is on disk before the kernel is told: if the NodeManager dies in between, its next life holds the
// container to it.
func (c *Container) Update(ctx context.Context, g allocation.Grant, token []byte) error {
	wrap := func(err error) error {
		return fmt.Errorf("change the size of container %s to %v: %w", c.ID(), g.Resource, err)
	}
	x, err := suspension{c}.turn(ctx, turn.Change)
	if err != nil {
		return wrap(err)
	}
	defer x.release()
	if err := x.mayUpdate(g); err != nil {
		return err
	}
	c.mu.Lock()
	before := c.token
	c.token = token
	saved := c.beginRequest()
	c.mu.Unlock()
	select {
	case err = <-saved:
	case <-x.ctx.Done():
		err = x.interrupted()
	}
	if err == nil {
		err = x.withGroup(func(cgroup.Group) error { return x.adoptSize(g) }, resizable...)
	}
	if err != nil {
		c.mu.Lock()
		c.token = before
		saved := c.beginRequest()
		c.mu.Unlock()
		c.logged(saved)
		return wrap(err)
	}
	c.m.changed()
	return nil
}

// mayUpdate refuses an update that can't be made whatever the kernel says, before it is on disk.
func (c command) mayUpdate(g allocation.Grant) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g.Version <= c.grant.Version {
		return &staleVersion{c.ID(), c.grant.Version, g.Version}
	}
	return errors.Join(c.checkGPUs(g), c.box.Fits(g.Resource))
}

// checkGPUs refuses another number of GPUs to a container that has its own. The lock is held.
func (c command) checkGPUs(g allocation.Grant) error {
	if has, wants := int64(len(c.record.GPUs)), gpu.In(c.m.cfg.Types, g.Resource); c.record.GPUs != nil && has != wants {
		return fmt.Errorf("change the size of container %s: it has %d GPUs and can't get %d, as its processes know which are theirs", c.ID(), has, wants)
	}
	return nil
}

// adoptSize holds the container to its new size, and counts it. No other call writes to the group.
func (c command) adoptSize(g allocation.Grant) error {
	old := c.box.Size()
	before, held := c.ladder.State().Holds, c.ladder.Resized(old, g.Resource) // memory taken from a suspended one stays paged out
	paged := held.MemoryMB() < g.Resource.MemoryMB()
	if err := c.box.Change(g.Resource, held, paged); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.checkGPUs(g); err != nil { // it has got them just now; before that there was no group
		return errors.Join(err, c.box.Change(old, before, paged))
	}
	c.ladder.Resize(old, g.Resource)
	c.record.Wishes = c.record.Resize(old, g.Resource)
	// Other fields of an update's token aren't for a container that was placed long ago.
	c.grant.Resource, c.grant.Version, c.grant.ExecutionType = g.Resource, g.Version, g.ExecutionType
	if old != g.Resource && old.FitsIn(g.Resource) {
		c.grown = g.Version
	}
	c.place.Change(g.Resource, held)
	c.place.Yields(yieldsBy(c.Container, g))
	return nil
}
