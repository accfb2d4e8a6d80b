package container

import (
	"context"
	"fmt"

	"heddle/nm/cgroup"
	"heddle/yarn/records"
)

// watchMemory kills the container when the kernel has ended one of its processes for want of memory: what is left of a
// program then is hardly what its author meant to run. It returns a function that ends the watch.
func (c *Container) watchMemory(ctx context.Context) (stop func()) {
	events := c.Group().OOM()
	if events == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ctx.Done():
				return
			case <-events:
				if why := c.outOfMemory(); why != "" {
					c.Kill(records.ExitKilledExceededPMem, why)
					return
				}
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// outOfMemory returns the diagnostics for a container that reached its memory limit and had a process killed for it,
// and nothing for any other.
func (c *Container) outOfMemory() string {
	c.mu.Lock()
	group, limit, session := c.group, c.m.limits(c.grant.Resource).Memory, c.session
	c.mu.Unlock()
	if group == nil || limit <= 0 {
		return ""
	}
	use, err := group.Usage()
	// The kernel counts the victims of a shortage of the whole machine as well.
	if err != nil || use.OOMKills <= 0 || use.Peak >= 0 && use.Peak < limit-limit/20 {
		return ""
	}
	return fmt.Sprintf("Container [pid=%d,containerID=%s] is running beyond the 'PHYSICAL' memory limit. "+
		"The kernel ended %d of its processes when it reached %sB. Killing container.\n",
		session.PID(), c.ID(), use.OOMKills, binaryPrefix(limit))
}

// binaryPrefix formats a number of bytes as Hadoop does (StringUtils.TraditionalBinaryPrefix, one decimal).
func binaryPrefix(n int64) string {
	if n < 1024 && n > -1024 {
		return fmt.Sprintf("%d ", n)
	}
	v, prefixes := float64(n), "KMGTPE"
	i := -1
	for ; (v >= 1024 || v <= -1024) && i < len(prefixes)-1; i++ {
		v /= 1024
	}
	return fmt.Sprintf("%.1f %c", v, prefixes[i])
}

// noteUsage remembers the most memory that the container has used.
func (c *Container) noteUsage(use cgroup.Usage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.usage.Peak = max(c.usage.Peak, use.Peak)
	c.record.Peak = c.usage.Peak
}
