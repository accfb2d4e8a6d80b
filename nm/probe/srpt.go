package probe

import (
	"math"
	"time"
)

// pickShortest chooses the probe whose job has the least work left, among those that may overtake everything in front of them. A long
// probe at the head is always taken; one behind it ends the search if it is chosen. Probes of jobs that have launched all tasks are dropped or, with
// Config.Late, come last.
func (w *Worker) pickShortest(u *user) int {
	best, least := -1, math.Inf(1)
	late := -1
	slack := math.Inf(1) // the least that anything in front may still be overtaken by
	for i := 0; i < u.len(); i++ {
		e := &u.all()[i]
		if e.held {
			continue
		}
		j := &w.jobs.hot[e.job]
		if j.remaining < 0 {
			if w.cfg.Late {
				if late < 0 {
					late = i
				}
				continue
			}
			h := e.job
			for range w.dropAll(u, i) {
				w.dropped = append(w.dropped, h)
			}
			i--
			continue
		}
		if j.long {
			if !w.pause.is && (best < 0 || j.remaining < least && w.passes(j.estimate, slack)) {
				return i
			}
			continue
		}
		if j.remaining < least && w.passes(j.estimate, slack) {
			best, least = i, j.remaining
		}
		slack = min(slack, w.cfg.Bound*float64(j.estimate)-float64(e.passed))
	}
	if best < 0 {
		return late
	}
	return best
}

// passes reports whether a task may overtake probes of which one may be overtaken by so much more.
func (w *Worker) passes(estimate time.Duration, slack float64) bool {
	return float64(estimate) < slack || float64(estimate) == slack && !w.cfg.Strict
}

// overtake charges the probes in front of a place with a task that starts before them.
func (u *user) overtake(place int, estimate time.Duration) {
	all := u.all()[:place]
	for i := range all {
		if !all[i].held {
			all[i].passed += estimate
		}
	}
}
