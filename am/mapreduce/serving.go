package mapreduce

import (
	"fmt"
	"maps"
	"net"

	"heddle/am"
	"heddle/am/client"
	"heddle/am/mapreduce/job"
	"heddle/am/mapreduce/served"
	"heddle/am/stage"
	"heddle/yarn/ipc"
)

// launchOn returns how workers are started on a host. Its shuffle service learns the job's secret, unless it is known to have none: a node refuses
// containers with data for a service that it lacks.
func launchOn(c *coordinator, host string) am.Launch {
	l := c.launch
	if c.shuffle != nil && !c.unserved[host] {
		l.ServiceData = maps.Clone(l.ServiceData)
		if l.ServiceData == nil {
			l.ServiceData = map[string][]byte{}
		}
		l.ServiceData[served.Service] = c.shuffle
	}
	return l
}

// nodeServing returns the service by which a node serves the output of a task that is done; "" if its worker does.
func nodeServing(c *coordinator, w *workerState, r *job.DoneReport) string {
	if c.shuffle == nil || r.ID.Kind != job.Map || r.Shuffle <= 0 || r.Shuffle > 65535 || c.unserved[w.host] {
		return ""
	}
	return net.JoinHostPort(w.host, fmt.Sprint(r.Shuffle))
}

// distrust makes workers serve new outputs themselves where an output was refused.
func distrust(c *coordinator, f *job.FetchFailure) {
	made := c.planner.Attempts(stage.TaskID{Stage: stage.Map, Index: f.Map})[f.Attempt]
	if host := c.slots[made.Slot].host; c.shuffle != nil && !c.unserved[host] {
		c.unserved[host] = true
		c.log.Warnf("the shuffle service of %s doesn't give an output: workers there serve theirs from now on", host)
	}
}

// notStarted records that a container couldn't be started. One whose node has no shuffle service comes again without that, and doesn't
// count as a failure.
func notStarted(c *coordinator, e am.ContainerStartFailed) {
	if !client.IsClass(e.Err, ipc.InvalidAuxService) {
		c.completed(e.Container.ID, -1, fmt.Sprintf("it could not be started: %v", e.Err))
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.workers[e.Container.ID.String()]
	if w == nil {
		return
	}
	c.unserved[w.host] = true
	c.log.Infof("%s has no shuffle service: workers there serve their own outputs", w.host)
	delete(c.workers, e.Container.ID.String())
	w.exit = true
	wake(&w.wake)
	c.step(stage.Gone{Slot: w.slot, Err: e.Err})
}

// nodesChanged records which nodes are lost, with the outputs that they serve.
func nodesChanged(c *coordinator, list []am.NodeUpdate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range list {
		if !n.Usable() {
			c.step(stage.NodeLost{Host: n.Node.Host})
		}
	}
}
