package sched

// Steal returns probes for a node that has room for n tasks and nothing that waits: of jobs whose tasks wait for probes elsewhere, those with the
// fewest first. It is what a node gets that steals. A job whose tasks have constraints of their own is left alone.
func (s *Scheduler) Steal(node Node, n int) []Probe {
	s.out = s.out[:0]
	for n > 0 {
		best := -1
		for i := range s.jobs {
			j := &s.jobs[i]
			if !j.live || j.left == 0 || j.stolen || j.where != nil || j.allowed != nil && !j.allowed[node] {
				continue
			}
			if best < 0 || j.left < s.jobs[best].left {
				best = i
			}
		}
		if best < 0 {
			break
		}
		j := &s.jobs[best]
		j.stolen = true
		k := min(n, int(j.left))
		n -= k
		j.unanswered += int32(k)
		for range k {
			s.out = append(s.out, Probe{ID(j.generation)<<32 | ID(best), node})
		}
	}
	for _, p := range s.out {
		s.jobs[uint32(p.Job)].stolen = false
	}
	return s.out
}
