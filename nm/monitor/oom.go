package monitor

import (
	"context"
	"fmt"

	"heddle/nm/cgroup"
	"heddle/nm/proc"
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

// OutOfMemory returns the diagnostics of a container that reached its memory limit and lost a process to that, in the
// words with which YARN's own monitor kills: Spark and tuning tools read the figures from them. For any other container
// it returns "". last is what the container used when it was last sampled. virtualRatio is
// yarn.nodemanager.vmem-pmem-ratio.
func OutOfMemory(t Target, last Usage, virtualRatio float64) string {
	if t.Group == nil || t.Memory <= 0 {
		return ""
	}
	use, err := t.Group.Usage()
	// The kernel also counts processes that it ends because the whole machine has no memory left.
	if err != nil || use.OOMKills <= 0 || use.Peak >= 0 && use.Peak < t.Memory-t.Memory/20 {
		return ""
	}
	last.Physical = use.Peak
	if use.Peak < 0 {
		last.Physical = t.Memory // the kernel only ends processes of a group that has reached its limit
	}
	excess := max(0, last.Physical-t.Memory)
	return complaint(t, "physical", excess, last, int64(float64(t.Memory)*virtualRatio), survivors(t), int(use.OOMKills))
}

// survivors returns the processes that a container still has.
func survivors(t Target) []proc.Process {
	pids, err := t.Group.Processes()
	if err != nil || len(pids) == 0 {
		return nil
	}
	table, err := proc.Snapshot()
	if err != nil {
		return nil
	}
	return processes(t, table, pids)
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
