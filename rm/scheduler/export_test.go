package scheduler

import "fmt"

// CheckAll checks the cores of all partitions.
func CheckAll(s *Scheduler) error {
	for i := range s.parts {
		if err := s.parts[i].core.Check(); err != nil {
			return fmt.Errorf("label %q: %w", s.parts[i].label, err)
		}
	}
	return nil
}
