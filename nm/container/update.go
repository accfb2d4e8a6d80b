package container

import (
	"errors"
	"fmt"

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
func (c *Container) Update(g Grant, token []byte) error {
	c.mu.Lock()
	if g.Version <= c.grant.Version {
		have := c.grant.Version
		c.mu.Unlock()
		return &staleVersion{c.ID(), have, g.Version}
	}
	switch c.state {
	case Running, Paused, Scheduled, Localizing, New:
	default:
		state := c.state
		c.mu.Unlock()
		return fmt.Errorf("change the size of container %s: it %w but %s", c.ID(), ErrNotRunning, state)
	}
	if has, wants := int64(len(c.record.GPUs)), c.m.gpus(g.Resource); c.m.cfg.GPUs != nil && c.admitted && has != wants {
		c.mu.Unlock()
		return fmt.Errorf("change the size of container %s: it has %d GPUs and can't get %d, as its processes know which are theirs", c.ID(), has, wants)
	}
	oldGrant, oldToken := c.grant, c.token
	admitted, group := c.admitted, c.group
	c.mu.Unlock()

	if group != nil {
		if err := group.SetLimits(c.m.limits(g.Resource)); err != nil {
			// For instance because it uses more memory than it is to have.
			return fmt.Errorf("change the size of container %s from %v to %v: %w", c.ID(), oldGrant.Resource, g.Resource, err)
		}
	}
	c.mu.Lock()
	// What a token for an update says besides is not for a container that was placed long ago.
	c.grant.Resource, c.grant.Version, c.grant.ExecutionType = g.Resource, g.Version, g.ExecutionType
	c.token = token
	c.mu.Unlock()
	if admitted {
		c.m.admission.change(oldGrant.Resource, g.Resource)
	}
	if err := c.saveRequest(); err != nil {
		c.mu.Lock()
		c.grant, c.token = oldGrant, oldToken
		c.mu.Unlock()
		if admitted {
			c.m.admission.change(g.Resource, oldGrant.Resource)
		}
		if group != nil {
			err = errors.Join(err, group.SetLimits(c.m.limits(oldGrant.Resource)))
		}
		return err
	}
	if oldGrant.Resource != g.Resource && oldGrant.Resource.FitsIn(g.Resource) {
		c.mu.Lock()
		c.grown = g.Version
		c.mu.Unlock()
	}
	c.m.changed()
	return nil
}
