package probe

import (
	"math"
	"time"
)

// pickShortest chooses the probe whose job has the least work left, among those that may overtake everything in front of them. A long
// probe at the head is always taken; one behind it ends the search if it is chosen. Probes of jobs that have launched all tasks are dropped or, with
// Config.Late, laid by: these come last. The search ends where no task may overtake what is in front, as a long queue has hundreds of probes.
func (w *Worker) pickShortest(u *user) int {
	best, least := none, math.Inf(1)
	slack := math.Inf(1) // the least that anything in front may still be overtaken by
	shortest := time.Duration(math.MaxInt64)
	for i := 0; i < u.len(); i++ {
		e := &u.all()[i]
		j := &w.jobs.hot[e.job]
		if u.more != nil && slack < float64(u.more.least) && u.more.watches(e) {
			u.sweep(w)
			return best
		}
		if best != none && i >= w.cfg.Looked && w.cfg.Looked > 0 {
			if u.more != nil {
				u.sweep(w)
			}
			return best
		}
		shortest = min(shortest, j.estimate)
		if e.held {
			continue
		}
		if j.remaining < 0 {
			u.setAside(w, i)
			i--
			continue
		}
		if j.long {
			if !w.pause.is && j.remaining < least && w.cfg.passes(j.estimate, slack) {
				return i
			}
			continue
		}
		if j.remaining < least && w.cfg.passes(j.estimate, slack) {
			best, least = i, j.remaining
		}
		slack = min(slack, w.cfg.Bound*float64(j.estimate)-float64(e.passed))
	}
	if u.more != nil {
		u.more.least, u.more.launched = shortest, u.more.launched[:0]
	}
	if best == none && len(u.laidBy()) > 0 {
		return last
	}
	return best
}

// passes reports whether a task may overtake probes of which one may be overtaken by so much more.
func (c *Config) passes(estimate time.Duration, slack float64) bool {
	return float64(estimate) < slack || float64(estimate) == slack && !c.Strict
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
