package mapreduce

import (
	"context"
	"fmt"
	"slices"
	"time"

	"heddle/am/mapreduce/job"
	"heddle/am/mapreduce/signed"
)

// lose notes that a map task's output isn't there any more. It is made again if a reduce task may need it.
func (c *coordinator) lose(m, attempt int) {
	t := c.maps.all[m]
	if t.phase != done || t.attempt != attempt || c.reduces.count[done] == len(c.reduces.all) {
		return
	}
	c.log.WithField("task", t.id().String()).Warn("Its output is lost")
	if t.worker != nil {
		delete(t.worker.outputs, m)
	}
	c.move(t, waiting)
	c.tell(job.MapOutput{Map: m, Attempt: attempt, Lost: true})
	c.counters.Add(job.JobGroup, job.LostMaps, 1)
	if t.lost++; t.lost > lostLimit {
		c.fail(fmt.Errorf("the output of map task %d was lost %d times", m, t.lost))
	}
}

// lostLimit is how often a map task's output may be lost.
const lostLimit = 20

// end ends the current attempt at a task without success.
func (c *coordinator) end(t *taskState, f job.Failure, counts bool) {
	if w := t.worker; w != nil {
		w.task = nil
		if c.workers[w.ID.String()] == w {
			c.reckon(w)
		}
	}
	t.worker = nil
	if counts {
		// before it waits: where it may go depends on this
		if t.avoid == nil {
			t.avoid = map[string]bool{}
		}
		t.avoid[f.Host], t.failedAt = true, c.now()
	}
	c.move(t, waiting)
	if !counts {
		return
	}
	c.table(t.kind).failed++
	c.strike(f.Host)
	if c.failures = append(c.failures, f); len(c.failures) > failuresKept {
		c.failures = c.failures[1:]
	}
	tries, counter := c.spec.MapTries, job.FailedMaps
	if t.kind == job.Reduce {
		tries, counter = c.spec.ReduceTries, job.FailedReduces
	}
	c.counters.Add(job.JobGroup, counter, 1)
	c.log.Warnf("Failed: %v", f)
	if t.failed++; t.failed >= tries {
		c.fail(fmt.Errorf("%s task %d failed %d times, at last %v", t.kind, t.index, t.failed, f))
	}
}

const failuresKept = 100

// Complaints of a reduce task about map outputs, until one of the two sides is to blame.
const (
	complaintsOfOne   = 3 // about the same output
	complaintsOfHosts = 2 // about outputs of different hosts
)

// unfetchable takes in that a reduce task can't get the output of a map task. Who is to blame is a matter of what others say:
// an output that its worker doesn't have any more is lost, and so is one that two hosts can't fetch; a reduce task that can't
// fetch from several hosts, about which nobody else complains, goes to another host itself (Hadoop: ShuffleSchedulerImpl).
func (c *coordinator) unfetchable(_ context.Context, f *job.FetchFailure) (job.FetchVerdict, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.Map < 0 || f.Map >= len(c.maps.all) {
		return job.FetchVerdict{}, fmt.Errorf("no map task %d", f.Map)
	}
	w := c.workers[f.Worker]
	if w == nil {
		return job.FetchVerdict{}, signed.ErrGone
	}
	w.seen = c.now()
	t, r := c.maps.all[f.Map], w.task
	if c.over || t.phase != done || t.attempt != f.Attempt || t.worker == nil || r == nil || r.kind != job.Reduce || w.abandon {
		return job.FetchVerdict{}, nil // events tell what has become of it
	}
	t.blamed, r.blamed = count(t.blamed, w.host), count(r.blamed, t.worker.host)
	host := t.worker.host
	switch {
	case f.Gone, len(t.blamed) > 1, t.blamed[w.host] >= complaintsOfOne:
		c.lose(f.Map, f.Attempt)
		c.strike(host)
	case len(r.blamed) >= complaintsOfHosts:
		c.end(r, job.Failure{
			Task: r.id().String(), Host: w.host,
			Error: fmt.Sprintf("it can't fetch from %d hosts, from which others can; at last %s: %s", len(r.blamed), host, f.Error),
		}, true)
	default:
		return job.FetchVerdict{Again: true}, nil
	}
	c.change()
	return job.FetchVerdict{}, nil
}

func count(m map[string]int, key string) map[string]int {
	if m == nil {
		m = map[string]int{}
	}
	m[key]++
	return m
}

// starving is how long a map task waits while only reduce tasks run, until one of those, which all wait for its output, goes.
const starving = 5 * time.Second

// relieve makes room for map tasks that have to be repeated, lets workers look for tasks that have waited long enough, and
// gives up those that are silent. It is called every second.
func (c *coordinator) relieve() {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := c.bury()
	if c.forgive() || changed {
		c.change()
	}
	if len(c.maps.picky)+len(c.reduces.picky) > 0 {
		wake(&c.work)
	}
	stuck := !c.over && c.maps.count[waiting] > 0 && c.free() == 0 && c.maps.count[running] == 0 && c.reduces.count[running] > 0
	switch {
	case !stuck:
		c.starved = time.Time{}
	case c.starved.IsZero():
		c.starved = c.now()
	case c.now().Sub(c.starved) >= starving:
		c.starved = time.Time{}
		for _, t := range slices.Backward(c.reduces.all) {
			if t.phase == running {
				c.log.WithField("task", t.id().String()).Info("Makes room for a map task")
				t.worker.abandon = true
				t.worker = nil
				c.move(t, waiting)
				c.counters.Add(job.JobGroup, job.KilledReduces, 1)
				c.change()
				return
			}
		}
	}
}
