package scheduler

import (
	"fmt"

	"heddle/rm/scheduler/core"
	"heddle/yarn/records"
)

// QueuesIn returns the queues in the partition of a label.
func QueuesIn(s *Scheduler, label string) []QueueView { return s.queuesIn(label) }

// Regrant is Restore where nothing is known of the request.
func (s *Scheduler) Regrant(a AppHandle, n NodeHandle, r records.Resource) ContainerHandle {
	return s.restore(a, n, func(c *core.Core) ContainerHandle { return c.Restore(a, n, r) })
}

// CheckAll checks the cores of all partitions.
func CheckAll(s *Scheduler) error {
	for i := range s.parts {
		if err := s.parts[i].core.Check(); err != nil {
			return fmt.Errorf("label %q: %w", s.parts[i].label, err)
		}
	}
	return nil
}
