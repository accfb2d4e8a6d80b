package scheduler

// kept reports whether a node is kept for another application.
func (s *Scheduler) kept(*node, *app) bool { return false }

func (s *Scheduler) explainReservation(*app, *demand, *Reason) bool { return false }
