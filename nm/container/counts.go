package container

import (
	"sync/atomic"
	"time"

	"heddle/yarn/records"
)

// Counts has counters of the containers since this start of the node.
type Counts struct {
	Accepted, Launched           int64
	Completed, Failed, Killed    int64 // by how they have ended
	Waiting, Localizing, Running int   // at the moment
	Suspended, Reinitializing    int
	Allocated                    records.Resource // of containers that have not ended
	Active                       int              // that have not ended
	LaunchTime                   time.Duration    // from their acceptance to their launch, summed up over all launched
}

type counters struct {
	accepted, launched, completed, failed, killed, launchTime atomic.Int64
}

// ended counts a container's end.
func (n *counters) ended(exitCode int, killed bool) {
	switch {
	case killed:
		n.killed.Add(1)
	case exitCode == 0:
		n.completed.Add(1)
	default:
		n.failed.Add(1)
	}
}

// Counts counts containers.
func (m *Manager) Counts() Counts {
	n := &m.counters
	out := Counts{
		Accepted: n.accepted.Load(), Launched: n.launched.Load(), Completed: n.completed.Load(), Failed: n.failed.Load(),
		Killed: n.killed.Load(), LaunchTime: time.Duration(n.launchTime.Load()),
	}
	for _, c := range m.Containers() {
		c.mu.Lock()
		state, size := c.state, c.grant.Resource
		c.mu.Unlock()
		switch state {
		case Done:
			continue
		case New, Localizing:
			out.Localizing++
		case Scheduled:
			out.Waiting++
		case Running, Pausing, Exited:
			out.Running++
		case Paused, Resuming:
			out.Suspended++
		case Reinitializing, ReinitializingAwaitingKill, Relaunching:
			out.Reinitializing++
		}
		out.Active++
		out.Allocated = out.Allocated.Add(size)
	}
	return out
}

// Resource returns what the node has for containers.
func (m *Manager) Resource() records.Resource {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.resource
}
