package mapreduce

import (
	"fmt"

	"heddle/am"
	"heddle/yarn/records"
)

// wanted lists the tasks that a worker could begin with now.
func (c *coordinator) wanted() []*taskState {
	if c.over {
		return nil
	}
	var out []*taskState
	for _, t := range c.maps {
		if t.phase == waiting {
			out = append(out, t)
		}
	}
	if c.reducing() {
		for _, t := range c.reduces {
			if t.phase == waiting {
				out = append(out, t)
			}
		}
	}
	return out
}

// free is the number of workers that have no task, or are on their way.
func (c *coordinator) free() (n int) {
	for _, w := range c.workers {
		if w.task == nil && (!w.heard || c.suits(w)) {
			n++
		}
	}
	return n
}

// suits reports whether a worker is large enough for what there is to do.
func (c *coordinator) suits(w *workerState) bool {
	return c.count(c.maps, waiting) > 0 || c.fits(w, c.spec.ReduceSize)
}

// fits compares memory only: a stock ResourceManager that doesn't count cores grants one, however many were asked for.
func (c *coordinator) fits(w *workerState, s size) bool { return w.Resource[0] >= s.resource()[0] }

// adjust asks for containers for the tasks that wait, or takes back what isn't needed any more.
func (c *coordinator) adjust() {
	wanted := c.wanted()
	n := max(0, len(wanted)-c.free()) - len(c.asks)
	for id, t := range c.asks {
		if n >= 0 {
			break
		}
		if t.phase != waiting || c.over {
			n += c.withdraw(id, t)
		}
	}
	for id, t := range c.asks {
		if n >= 0 {
			break
		}
		n += c.withdraw(id, t)
	}
	for _, t := range wanted {
		if n <= 0 {
			return
		}
		if t.ask != 0 {
			continue
		}
		r := am.Request{Priority: mapPriority, Resource: c.spec.MapSize.resource(), RelaxLocality: true, Tags: []string{string(t.kind)}}
		if t.kind == reduceTask {
			r.Priority, r.Resource = reducePriority, c.spec.ReduceSize.resource()
		} else {
			r.Hosts = c.splits[t.index].Hosts
		}
		id, err := c.cluster.Request(r)
		if err != nil {
			c.fail(fmt.Errorf("containers for %s tasks: %w", t.kind, err))
			return
		}
		t.ask = id
		c.asks[id] = t
		n--
	}
}

func (c *coordinator) withdraw(id am.RequestID, t *taskState) int {
	n := c.cluster.Withdraw(id, 1)
	if n > 0 {
		delete(c.asks, id)
		t.ask = 0
	}
	return n
}

// allocated takes containers in, and gives back those that there is nothing to do for.
func (c *coordinator) allocated(list []am.Container) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range list {
		if t := c.asks[x.Request]; t != nil {
			delete(c.asks, x.Request)
			t.ask = 0
		}
		if len(c.wanted()) <= c.free() {
			c.cluster.Release(x.ID)
			continue
		}
		c.workers[x.ID.String()] = &workerState{Container: x, host: x.Node.Host, outputs: map[int]int{}}
		c.counters.Add(jobGroup, launchedWorkers, 1)
		c.cluster.Start(x.ID, c.launch)
	}
	c.change()
}

// refused takes in that the ResourceManager refuses requests.
func (c *coordinator) refused(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail(fmt.Errorf("the ResourceManager refuses containers: %w", err))
	c.change()
}

// uselessLimit is how many containers in a row may end before their worker has said a word.
const uselessLimit = 8

// completed takes in that a container has ended, or couldn't be started.
func (c *coordinator) completed(id records.ContainerID, exit int32, diagnostics string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.workers[id.String()]
	if w == nil {
		return
	}
	delete(c.workers, id.String())
	if c.over {
		return
	}
	taken := exit == records.ExitAborted || exit == records.ExitDisksFailed || exit == records.ExitPreempted
	why := fmt.Sprintf("its container %v ended with status %d: %s", id, exit, diagnostics)
	if !w.heard && !taken {
		c.log.WithField("container", id.String()).Warnf("The worker did not start: %s", why)
		if c.useless++; c.useless >= uselessLimit {
			c.fail(fmt.Errorf("workers don't start; the last on %s: %s", w.host, why))
		}
	}
	if t := w.task; t != nil && !w.abandon {
		c.end(t, Failure{Task: t.id().String(), Host: w.host, Error: why}, !taken)
	}
	for m, attempt := range w.outputs {
		c.lose(m, attempt)
	}
	c.change()
}
