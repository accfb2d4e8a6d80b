package rest

import (
	"heddle/rm/queue"
	"heddle/rm/scheduler/policy"
	"heddle/rm/view"
	"heddle/yarn/records"
)

// fairInfo is what YARN's FairScheduler tells of itself.
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
	t := fairTree{s, s.View.Total(), s.uses()}
	all := shares{t.total, t.total}
	return fairInfo{"fairScheduler", t.queue(s.Queues.Tree().Root, all)}
}

// fairTree builds the tree as a client sees it.
type fairTree struct {
	*server
	total records.Resource
	uses  map[string]*view.QueueUse
}

// shares are what a queue is due: of all queues' demands, and of those that have any now.
type shares struct{ steady, now records.Resource }

func (t *fairTree) queue(q *queue.Queue, due shares) fairQueue {
	u, none, all := t.uses[q.Path], t.resource(records.Resource{}), t.resource(t.total)
	least := t.bounded(records.Resource{})
	if q.Fair.Min.Set() {
		least = t.resource(q.Fair.Min.Of(t.total, records.Resource{}))
	}
	out := fairQueue{
		MaxApps: q.MaxParallelApps, Min: least, Max: t.resource(q.Fair.Max.Of(t.total, t.total)), Used: t.resource(u.Used),
		AMUsed: none, AMMax: none, Demand: t.resource(u.Used.Add(u.Pending)), SteadyFair: t.resource(due.steady),
		Fair: t.resource(due.now), Cluster: all, Reserved: none, MaxContainer: t.resource(t.MaxAllocation),
		Pending: u.Waiting, Allocated: u.Containers, Name: q.Path, Policy: q.Fair.Policy, Preemptable: true,
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
			for i, n := range due.now {
				due.now[i] = int64(float32(n) * q.MaxAMShare)
			}
			out.AMMax = t.resource(due.now)
		}
		return out
	}
	out.Children = &fairQueues{}
	parts := t.divide(q, due)
	for i, c := range q.Children {
		child := t.queue(c, parts[i])
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

// divide gives the children of a queue their parts of what it is due.
func (t *fairTree) divide(q *queue.Queue, due shares) []shares {
	out := make([]shares, len(q.Children))
	parties, parts := make([]policy.Party, len(q.Children)), make([]int64, len(q.Children))
	for i := range t.Types.Len() {
		for c, child := range q.Children {
			parties[c] = policy.Party{
				Weight: child.Fair.Weight, Min: child.Fair.Min.Of(t.total, records.Resource{})[i],
				Max: child.Fair.Max.Of(t.total, t.total)[i], Active: len(t.uses[child.Path].Apps) > 0,
			}
		}
		policy.Divide(due.steady[i], parties, true, parts)
		for c, n := range parts {
			out[c].steady[i] = n
		}
		policy.Divide(due.now[i], parties, false, parts)
		for c, n := range parts {
			out[c].now[i] = n
		}
	}
	return out
}
