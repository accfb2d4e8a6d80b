package monitor

import (
	"context"
	"fmt"

	"heddle/nm/cgroup"
)

// WatchMemory calls look when the kernel has ended a process of the group for want of memory, until look returns true. It returns
// a function that ends the watch, and returns when look isn't called any more.
func WatchMemory(ctx context.Context, group cgroup.Group, look func() (enough bool)) (stop func()) {
	events := group.OOM()
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
				if look() {
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

// OutOfMemory returns the diagnostics of a container that reached its memory limit and had a process killed for it, and nothing for
// any other.
func OutOfMemory(t Target) string {
	if t.Group == nil || t.Memory <= 0 {
		return ""
	}
	use, err := t.Group.Usage()
	// The kernel counts the victims of a shortage of the whole machine as well.
	if err != nil || use.OOMKills <= 0 || use.Peak >= 0 && use.Peak < t.Memory-t.Memory/20 {
		return ""
	}
	return fmt.Sprintf("Container [pid=%d,containerID=%s] is running beyond the 'PHYSICAL' memory limit. "+
		"The kernel ended %d of its processes when it reached %sB. Killing container.\n",
		t.Leader, t.ID, use.OOMKills, binaryPrefix(t.Memory))
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
