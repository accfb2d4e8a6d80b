package mapreduce

import (
	"fmt"
	"slices"
	"time"

	"heddle/am"
	"heddle/am/mapreduce/job"
)

type workerState struct {
	am.Container
	host    string
	url     string
	heard   bool // it has called
	task    *taskState
	abandon bool        // its task is no longer its own
	outputs map[int]int // attempts by map
	class   class
	seen    time.Time // when it last called, or was answered
	toldAt  time.Time // when it was last told of events
}

// class is what a worker could do.
type class int

const (
	busy   class = iota // it has a task, or is to get none
	coming              // it hasn't said a word yet
	able                // of all tasks
	small               // of map tasks only
	classes
)

func (c *coordinator) classify(w *workerState) class {
	switch {
	case w.task != nil || c.nodes.bad[w.host]:
		return busy
	case !w.heard:
		return coming
	case c.fits(w, c.spec.ReduceSize):
		return able
	}
	return small
}

// reckon notes what a worker can do now.
func (c *coordinator) reckon(w *workerState) {
	c.idle[w.class]--
	w.class = c.classify(w)
	c.idle[w.class]++
}

func (c *coordinator) admit(w *workerState) {
	c.workers[w.ID.String()] = w
	c.hosts[w.host]++
	w.class, w.seen = c.classify(w), c.now()
	c.idle[w.class]++
}

func (c *coordinator) remove(w *workerState) {
	delete(c.workers, w.ID.String())
	if c.hosts[w.host]--; c.hosts[w.host] == 0 {
		delete(c.hosts, w.host)
	}
	c.idle[w.class]--
}

// leave gives a worker up. why is the failure of its task, which counts if that wasn't somebody's decision.
func (c *coordinator) leave(w *workerState, why string, counts bool) {
	c.remove(w)
	if c.over {
		return
	}
	if t := w.task; t != nil && !w.abandon {
		c.end(t, job.Failure{Task: t.id().String(), Host: w.host, Error: why}, counts)
	} else if counts && !w.heard {
		c.strike(w.host)
	}
	for m, attempt := range w.outputs {
		c.lose(m, attempt)
	}
	c.stirred = true
}

// leastSilence is how long a worker may be silent at least: it waits for answers for a third of that.
const leastSilence = 3 * job.LongPoll

// bury gives up workers that have been silent for too long: their processes, or their machines, are frozen. What they say
// later is not taken.
func (c *coordinator) bury() (buried bool) {
	if c.spec.Timeout <= 0 || c.over {
		return false
	}
	limit := max(c.spec.Timeout, leastSilence)
	for id, w := range c.workers {
		silent := c.now().Sub(w.seen)
		if silent <= limit || !w.heard && silent <= 2*limit { // files may have to come first
			continue
		}
		c.log.WithField("container", id).Warnf("The worker on %s was silent for %v: it is given up", w.host, silent)
		c.cluster.Release(w.ID)
		c.leave(w, fmt.Sprintf("its worker, %s, said nothing for %v (%s)", id, limit, job.KeyTimeout), true)
		buried = true
	}
	return buried
}

// nodes is how hosts have behaved.
type nodes struct {
	strikes  map[string]int // tasks that have failed there
	bad      map[string]bool
	barren   time.Time // since when nothing can run because of bad ones
	forgiven bool      // nothing ran without them
}

func newNodes() nodes { return nodes{strikes: map[string]int{}, bad: map[string]bool{}} }

// strike counts a failure of a host's. A host with several isn't used any more, before a task has failed there as often as
// it may (Hadoop: mapreduce.job.maxtaskfailures.per.tracker). At least half of the cluster stays in use.
func (c *coordinator) strike(host string) {
	n := &c.nodes
	n.strikes[host]++
	limit := max(1, min(c.spec.NodeFailures, c.spec.MapTries-1, c.spec.ReduceTries-1))
	if n.strikes[host] < limit || n.bad[host] || n.forgiven || len(n.bad) >= c.cluster.ClusterNodes()/2 {
		return
	}
	c.log.WithField("host", host).Warnf("%d failures: no more tasks there", n.strikes[host])
	n.bad[host] = true
	c.cluster.Blacklist([]string{host}, nil)
	for _, w := range c.workers {
		if w.host == host {
			c.reckon(w)
		}
	}
	c.stirred = true
}

// forgiving is how long nothing may run for want of nodes that haven't failed.
const forgiving = 30 * time.Second

// forgive takes bad nodes into use again, once and for all, if nothing runs without them.
func (c *coordinator) forgive() bool {
	n := &c.nodes
	free := c.idle[coming] + c.idle[able] + c.idle[small]
	if c.over || len(n.bad) == 0 || c.wanted() == 0 || c.maps.count[running]+c.reduces.count[running]+free > 0 {
		n.barren = time.Time{}
		return false
	}
	if n.barren.IsZero() {
		n.barren = c.now()
	}
	if c.now().Sub(n.barren) < forgiving {
		return false
	}
	var hosts []string
	for h := range n.bad {
		hosts = append(hosts, h)
	}
	slices.Sort(hosts)
	c.log.Warnf("No other nodes give containers: tasks go to %v again, where they have failed", hosts)
	n.forgiven = true
	clear(n.bad)
	c.cluster.Blacklist(nil, hosts)
	for _, w := range c.workers {
		c.reckon(w)
	}
	c.stirred = true
	return true
}
