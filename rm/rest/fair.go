package rest

import (
	"heddle/rm/queue"
	"heddle/rm/view"
	"heddle/yarn/records"
)

// fairInfo describes YARN's FairScheduler.
type fairInfo struct {
	Type string    `yarn:"type,xsi"`
	Root fairQueue `yarn:"rootQueue"`
}

type fairQueue struct {
	MaxApps       int32        `yarn:"maxApps"`
	Min           resourceInfo `yarn:"minResources"`
	Max           resourceInfo `yarn:"maxResources"`
	Used          resourceInfo `yarn:"usedResources"`
	AMUsed        resourceInfo `yarn:"amUsedResources"`
	AMMax         resourceInfo `yarn:"amMaxResources"`
	Demand        resourceInfo `yarn:"demandResources"`
	SteadyFair    resourceInfo `yarn:"steadyFairResources"`
	Fair          resourceInfo `yarn:"fairResources"`
	Cluster       resourceInfo `yarn:"clusterResources"`
	Reserved      resourceInfo `yarn:"reservedResources"`
	MaxContainer  resourceInfo `yarn:"maxContainerAllocation"`
	Pending       int64        `yarn:"pendingContainers"`
	Allocated     int          `yarn:"allocatedContainers"`
	ReservedCount int          `yarn:"reservedContainers"`
	Name          string       `yarn:"queueName"`
	Policy        string       `yarn:"schedulingPolicy"`
	Preemptable   bool         `yarn:"preemptable"`
	Children      *fairQueues  `yarn:"childQueues"`
}

type fairQueues struct {
	Queue []any `yarn:"queue"` // fairQueue or fairLeaf
}

type fairLeaf struct {
	Type string `yarn:"type,xsi"`
	fairQueue
	PendingApps int `yarn:"numPendingApps"`
	ActiveApps  int `yarn:"numActiveApps"`
}

func (s *server) fairInfo() fairInfo {
	tree, uses := s.uses()
	t := fairTree{s, s.View.Total(), uses, largestContainer(s.View.Nodes(), s.MaxAllocation)}
	return fairInfo{"fairScheduler", t.queue(tree.Root)}
}

// fairTree builds the tree that a client sees.
type fairTree struct {
	*server
	total   records.Resource
	uses    map[string]*view.QueueUse
	largest records.Resource // container, by the configuration and the nodes
}

// largestContainer returns the largest container that a usable node can take, at most what is configured; without nodes it is that
// (Hadoop: ClusterNodeTracker.getMaxAllowedAllocation).
func largestContainer(nodes []view.Node, configured records.Resource) records.Resource {
	var most records.Resource
	some := false
	for i := range nodes {
		if n := &nodes[i]; n.Usable() {
			most, some = most.Max(n.Capability), true
		}
	}
	if !some {
		return configured
	}
	return configured.Min(most)
}

func (t *fairTree) queue(q *queue.Queue) fairQueue {
	u, none, all := t.uses[q.Path], t.resource(records.Resource{}), t.resource(t.total)
	least := t.bounded(records.Resource{})
	if q.Fair.Min.Set() {
		least = t.resource(u.Share.Min)
	}
	out := fairQueue{
		MaxApps: q.MaxParallelApps, Min: least, Max: t.resource(u.Share.Max.Min(t.total)), Used: t.resource(u.Used),
		AMUsed: none, AMMax: none, Demand: t.resource(u.Used.Add(u.Pending)), SteadyFair: t.resource(u.State.Steady),
		Fair: t.resource(u.State.Fair), Cluster: all, Reserved: t.resource(u.Reserved.Resource), MaxContainer: t.resource(q.Fair.MaxContainer.Of(t.MaxAllocation, t.MaxAllocation).Min(t.largest)),
		Pending: u.Waiting, Allocated: u.Containers, ReservedCount: u.Reserved.Containers, Name: q.Path, Policy: q.Fair.Policy,
		Preemptable: !q.Fair.NoPreemption,
	}
	if q.Leaf() {
		var held records.Resource
		for _, a := range u.Apps {
			if a.AMContainer != (records.ContainerID{}) {
				held = held.Add(a.AMResource)
			}
		}
		out.AMUsed = t.resource(held)
		if len(u.Apps) > 0 && q.MaxAMShare >= 0 {
			out.AMMax = t.resource(u.State.AMLimit)
		}
		return out
	}
	out.Children = &fairQueues{}
	for _, c := range q.Children {
		child := t.queue(c)
		if !c.Leaf() {
			out.Children.Queue = append(out.Children.Queue, child)
			continue
		}
		started := t.uses[c.Path].Started()
		out.Children.Queue = append(out.Children.Queue, fairLeaf{
			"fairSchedulerLeafQueueInfo", child, len(t.uses[c.Path].Apps) - started, started,
		})
	}
	return out
}
