package nm

import (
	"errors"

	"heddle/nm/allocation"
	"heddle/nm/cgroup"
	"heddle/nm/enclosure"
	"heddle/nm/probe"
	"heddle/yarn/records"
)

// lentGroup is the group of the groups of executors of short tasks.
const lentGroup = "short-tasks"

// openLent makes the group that holds executors of short tasks together to what is lent. Where it can't be, the log and the node's report say what isn't guaranteed.
func (n *NodeManager) openLent() {
	if n.s.probes == nil {
		return
	}
	lent, err := n.groups.Below(lentGroup, cgroup.Limits{})
	why := ""
	switch {
	case err != nil:
		why = err.Error()
	case !n.groups.Capabilities().MemoryLimit:
		why = "there are no memory groups"
	case !n.s.container.LimitMemory:
		why = "the kernel isn't to hold containers to their memory (yarn.nodemanager.pmem-check-enabled, yarn.nodemanager.resource.memory.enforced)"
	}
	if why != "" {
		n.unbounded = "executors of short tasks may together use more memory than is lent (heddle.probes.memory-mb), each as much as all of it: " + why
		n.log.Warnf("not guaranteed on this node: %s", n.unbounded)
	}
	if err != nil {
		return
	}
	n.lent = lent
	n.closing(func() {
		if err := lent.Close(); err != nil {
			n.log.WithError(err).Warn("could not leave the group of short tasks")
		}
	})
}

// containerGroups makes the groups of containers, those of executors in theirs.
func (n *NodeManager) containerGroups() cgroup.Handler {
	if n.lent == nil {
		return n.groups
	}
	return splitGroups{n.groups, n.lent}
}

// splitGroups is a handler that has the groups of executors in another one.
type splitGroups struct {
	cgroup.Handler
	lent cgroup.Parent
}

// of returns the handler for a group.
func (s splitGroups) of(name string) cgroup.Handler {
	if id, err := records.ParseContainerID(name); err == nil && allocation.IsOnLent(id) {
		return s.lent
	}
	return s.Handler
}

// Create implements cgroup.Handler.
func (s splitGroups) Create(name string, l cgroup.Limits) (cgroup.Group, error) {
	return s.of(name).Create(name, l)
}

// Open implements cgroup.Handler. A NodeManager of an older version had executors among the others.
func (s splitGroups) Open(name string) (cgroup.Group, error) {
	g, err := s.of(name).Open(name)
	if errors.Is(err, cgroup.ErrNotFound) {
		return s.Handler.Open(name)
	}
	return g, err
}

// Groups implements cgroup.Handler.
func (s splitGroups) Groups() ([]string, error) {
	names, err := s.Handler.Groups()
	if err != nil {
		return nil, err
	}
	lent, err := s.lent.Groups()
	return append(names, lent...), err
}

// lentBounds implements shorttasks.Bounds by the group of all executors.
type lentBounds struct{ enclosure.Together }

// Set implements shorttasks.Bounds.
func (b lentBounds) Set(most probe.Amount) error { return b.Together.Set(most.MemoryMB, most.VCores) }

// Memory implements shorttasks.Bounds.
func (b lentBounds) Memory() (int64, error) {
	use, err := b.Group.Usage()
	if err == nil && use.Memory < 0 {
		err = errors.ErrUnsupported
	}
	return use.Memory, err
}
