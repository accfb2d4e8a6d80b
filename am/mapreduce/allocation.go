package mapreduce

import (
	"fmt"

	"heddle/am"
	"heddle/am/mapreduce/job"
	"heddle/yarn/records"
)

// wanted is how many tasks a worker could begin with now.
func (c *coordinator) wanted() int {
	if c.over {
		return 0
	}
	if c.reducing() {
		return c.reduces.count[waiting] // no map task waits
	}
	return c.maps.count[waiting]
}

// free is the number of workers that could take a task, or are on their way.
func (c *coordinator) free() int {
	n := c.idle[coming] + c.idle[able]
	if c.maps.count[waiting] > 0 {
		n += c.idle[small]
	}
	return n
}

// fits compares memory only: a stock ResourceManager that doesn't count cores grants one, however many were asked for.
func (c *coordinator) fits(w *workerState, s job.Size) bool { return w.Resource[0] >= s.Resource()[0] }

// adjust asks for containers for the tasks that wait, or takes back what isn't needed any more.
func (c *coordinator) adjust() {
	n := max(0, c.wanted()-c.free()) - len(c.asks)
	for _, some := range []map[am.RequestID]*taskState{c.stale, c.asks} {
		for id, t := range some {
			if n >= 0 {
				break
			}
			n += c.withdraw(id, t)
		}
	}
	unasked := func(t *taskState) bool { return t.phase == waiting && t.ask == 0 }
	for ; n > 0; n-- {
		t := c.maps.unasked.first(unasked)
		if t == nil && c.reducing() {
			t = c.reduces.unasked.first(unasked)
		}
		if t == nil {
			return
		}
		r := am.Request{Priority: mapPriority, Resource: c.spec.MapSize.Resource(), RelaxLocality: true, Tags: []string{string(t.kind)}}
		if t.kind == job.Reduce {
			r.Priority, r.Resource = reducePriority, c.spec.ReduceSize.Resource()
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
	}
}

func (c *coordinator) withdraw(id am.RequestID, t *taskState) int {
	n := c.cluster.Withdraw(id, 1)
	if n > 0 {
		c.served(id, t)
	}
	return n
}

// served drops a request. Its task may have to ask again.
func (c *coordinator) served(id am.RequestID, t *taskState) {
	delete(c.asks, id)
	delete(c.stale, id)
	t.ask = 0
	if t.phase == waiting {
		c.table(t.kind).unask(t)
	}
}

// allocated takes containers in, and gives back those that there is nothing to do for.
func (c *coordinator) allocated(list []am.Container) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range list {
		if t := c.asks[x.Request]; t != nil {
			c.served(x.Request, t)
		}
		if c.wanted() <= c.free() || c.nodes.bad[x.Node.Host] {
			c.cluster.Release(x.ID)
			continue
		}
		c.admit(&workerState{Container: x, host: x.Node.Host, outputs: map[int]int{}})
		c.counters.Add(job.JobGroup, job.LaunchedWorkers, 1)
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
	taken := exit == records.ExitAborted || exit == records.ExitDisksFailed || exit == records.ExitPreempted
	why := fmt.Sprintf("its container %v ended with status %d: %s", id, exit, diagnostics)
	c.leave(w, why, !taken)
	if !w.heard && !taken && !c.over {
		c.log.WithField("container", id.String()).Warnf("The worker did not start: %s", why)
		if c.useless++; c.useless >= uselessLimit {
			c.fail(fmt.Errorf("workers don't start; the last on %s: %s", w.host, why))
		}
	}
	c.change()
}
