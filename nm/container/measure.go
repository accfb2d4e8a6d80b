package container

import (
	"context"

	"heddle/nm/cgroup"
	"heddle/nm/monitor"
	"heddle/yarn/records"
)

// Targets returns the containers whose processes can be measured.
func (m *Manager) Targets() []monitor.Target {
	var out []monitor.Target
	for _, c := range m.Containers() {
		c.mu.Lock()
		t, ok := targetOf(c), c.state.is(inProcess...)
		t.Memory = c.grant.Resource.MemoryMB() << 20
		c.mu.Unlock()
		if ok && t.Group != nil {
			out = append(out, t)
		}
	}
	return out
}

// targetOf returns a container as a monitor looks at it, held to its limits of now. Its lock is held.
func targetOf(c *Container) monitor.Target {
	t := monitor.Target{ID: c.grant.ID, Group: c.box.Group(), Keeper: c.record.Keeper.PID, Memory: c.box.Limits().Memory}
	if c.session != nil {
		t.Leader = c.session.PID()
	}
	return t
}

// Measured notes what a container uses. It returns the same with the highest peak that was seen.
func (m *Manager) Measured(id records.ContainerID, u monitor.Usage) monitor.Usage {
	c, err := m.Container(id)
	if err != nil {
		return u // the ResourceManager has just forgotten it
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	u.Peak = max(c.usage.Peak, u.Peak)
	c.usage, c.record.Peak = u, u.Peak
	return u
}

// Kill is Container.Kill for a container that may not be here any more.
func (m *Manager) Kill(id records.ContainerID, exitCode int, why string) {
	if c, err := m.Container(id); err == nil {
		c.Kill(exitCode, why)
	}
}

// watchMemory kills the container when the kernel has ended one of its processes for want of memory: the rest of a
// program is then hardly what its author meant to run. It returns a function that ends the watch.
func (c life) watchMemory(ctx context.Context) (stop func()) {
	return monitor.WatchMemory(ctx, c.Group(), func() bool {
		why := c.outOfMemory()
		if why != "" {
			c.Kill(records.ExitKilledExceededPMem, why)
		}
		return why != ""
	})
}

// outOfMemory says why the container has ended if the kernel has ended it for want of memory.
func (c life) outOfMemory() string {
	c.mu.Lock()
	t, last := targetOf(c.Container), c.usage
	c.mu.Unlock()
	return monitor.OutOfMemory(t, last, c.m.cfg.VirtualRatio)
}

// noteUsage remembers what the container has used, and what it lacked.
func (c life) noteUsage(use cgroup.Usage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.usage.Peak = max(c.usage.Peak, use.Peak)
	c.record.Peak = c.usage.Peak
	c.record.Starved = max(use.Starved.Milliseconds(), 0)
}
