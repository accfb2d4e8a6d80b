package probe

// Steal removes probes for another node that is idle: the first group of short probes behind long work that runs or waits, at most
// limit. It appends their jobs to dst.
func (w *Worker) Steal(dst []Handle, limit int) []Handle {
	if !w.shortWaits() || w.longRuns == 0 && w.longs == 0 && !w.outside {
		return dst
	}
	before := len(dst)
	for c := range w.classes {
		for i := range w.classes[c].users {
			u := &w.classes[c].users[i]
			behind := w.longRuns > 0 || w.outside
			for i := 0; i < u.len() && len(dst)-before < limit; {
				e := u.all()[i]
				switch {
				case w.jobs.hot[e.job].long:
					if len(dst) > before {
						return dst
					}
					behind = true
				case behind && !e.held:
					dst = append(dst, e.job)
					w.drop(u, i)
					continue
				}
				i++
			}
			if len(dst) > before {
				return dst
			}
		}
	}
	return dst
}

// StealAny removes short probes wherever they are, the oldest first, at most limit. It appends their jobs to dst.
func (w *Worker) StealAny(dst []Handle, limit int) []Handle {
	if !w.shortWaits() {
		return dst
	}
	before := len(dst)
	for c := range w.classes {
		for i := range w.classes[c].users {
			u := &w.classes[c].users[i]
			for i := 0; i < u.len() && len(dst)-before < limit; {
				if e := u.all()[i]; !e.held && !w.jobs.hot[e.job].long {
					dst = append(dst, e.job)
					w.drop(u, i)
					continue
				}
				i++
			}
		}
	}
	return dst
}
