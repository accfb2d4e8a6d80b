package shorttasks

import (
	"time"

	"heddle/nm/probe"
	"heddle/yarn/wire"
)

// took is how long tasks of a job take, in the mean: what its scheduler says, until enough of them have ended here. Some run for long before the first one ends, and a
// run of a program may begin with quick ones: so tasks that run for longer than the mean count as if they ended now.
type took struct {
	told   time.Duration // by the scheduler, last; 0: it hasn't said
	mean   float64       // ns; 0: nothing is known
	weight int           // of how many tasks it is, at most paceMean
	own    int           // of these, have ended here
}

// steady is by how many times the mean must differ from the estimate in use before that is changed: a node prefers the job with the least work left, and estimates of
// alike jobs that differ a little would have newer ones overtake older ones.
const steady = 1.25

// say takes what the scheduler says. It counts until the node knows from enough tasks of its own.
func (t *took) say(d time.Duration) {
	if d > 0 && d != t.told && t.own < paceMean {
		t.told, t.mean, t.weight = d, float64(d), paceMean
	}
}

// learn records a task that has ended here.
func (t *took) learn(d time.Duration) {
	t.own = min(t.own+1, paceMean)
	t.weight = min(t.weight+1, paceMean)
	t.mean += (float64(d) - t.mean) / float64(t.weight)
}

// reestimate updates the queue's estimates, if they differ enough. The lock is held.
func (j *job) reestimate(t *took) {
	w, now := j.s.n.worker, t.mean
	if before := float64(j.s.n.jobs.Of(j.handle).Estimate); now > steady*before || now < before/steady {
		w.SetEstimate(j.handle, time.Duration(now))
	}
}

// learn records a task of the job that has run here. The lock is held.
func (j *job) learn(d time.Duration) {
	j.took.learn(max(d, 1))
	j.reestimate(&j.took)
}

// estimate takes what a scheduler says of a job that is known here. The lock is held.
func (s *scheduler) estimate(m *wire.Estimate) {
	if j := s.jobs[m.Job]; j != nil {
		j.took.say(microseconds(m.EstimateUS))
		j.reestimate(&j.took)
	}
}

// microseconds returns a time that a scheduler has said, of which anything may be too long.
func microseconds(us uint64) time.Duration {
	return time.Duration(min(us, maxEstimate)) * time.Microsecond
}

// age raises the queue's estimates by tasks that run for longer than was expected. The lock is held.
func (n *Node) age() {
	var aged map[*job]took
	now := n.now()
	for _, r := range n.runs {
		if r == nil || !r.runs {
			continue
		}
		t, ok := aged[r.job]
		if !ok {
			t = r.job.took
		}
		if age := now - r.since; float64(age) > t.mean {
			t.learn(age)
			if aged == nil {
				aged = map[*job]took{}
			}
			aged[r.job] = t
		}
	}
	for j, t := range aged {
		j.reestimate(&t)
	}
}

// Waits returns how many tasks wait here for room, as far as probes tell, and how long they have waited together since they were submitted.
func (n *Node) Waits() (tasks int, sum time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.now()
	for h, j := range n.of {
		if j == nil {
			continue
		}
		if k := min(n.jobs.WaitingOf(probe.Handle(h)), n.jobs.Of(j.handle).Left); k > 0 {
			tasks += k
			sum += time.Duration(k) * min(max(0, now-j.submitted), longestWait/maxProbes)
		}
	}
	return tasks, sum
}

// longestWait is the longest sum of waits that is told.
const longestWait = time.Duration(1 << 62)

// submittedAt returns when a task was submitted that has waited for so long by its scheduler's word, by the node's clock. No task waits here for longer than its scheduler is
// connected. The lock is held.
func (s *scheduler) submittedAt(us uint64) time.Duration {
	now := s.n.now()
	return now - min(microseconds(us), max(0, now-s.since))
}
