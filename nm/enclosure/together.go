package enclosure

import "heddle/nm/cgroup"

// Together bounds containers that may only together use an amount: executors of short tasks, of which each may use all that the node was lent.
type Together struct {
	Group cgroup.Parent // of the containers' groups
	Rules *Rules
}

// leastTogether is the memory that they may use if the amount has none: a kernel takes a limit of 0 for no limit.
const leastTogether = 1 << 20

// Set makes the amount another one. Where the kernel refuses, as they use more memory, nothing has changed.
func (t Together) Set(memoryMB, vcores int64) error {
	l := cgroup.Limits{Shares: float64(vcores)}
	if t.Rules.LimitMemory {
		l.Memory = max(memoryMB<<20, leastTogether)
		l.Swap = l.Memory // a suspended container may be paged out, as its own limits say
	}
	if total := t.Rules.Resource.VCores(); t.Rules.StrictCPU && total > 0 {
		l.CPU = t.Rules.Cores * float64(vcores) / float64(total)
	}
	return t.Group.SetLimits(l)
}
