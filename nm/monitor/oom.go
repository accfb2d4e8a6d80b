package monitor

import (
	"context"
	"fmt"

	"heddle/nm/cgroup"
)

// WatchMemory calls look when the kernel has ended a process of the group because memory ran out, until look returns
// true. stop ends the watch; after it has returned, look isn't called.
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

// OutOfMemory returns the diagnostics of a container that reached its memory limit and lost a process to that. For any
// other it returns "".
func OutOfMemory(t Target) string {
	if t.Group == nil || t.Memory <= 0 {
		return ""
	}
	use, err := t.Group.Usage()
	// The kernel also counts processes that it ends because the whole machine has no memory left.
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
