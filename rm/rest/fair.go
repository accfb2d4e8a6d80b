package rest

import (
	"math"

	"heddle/rm/queue"
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
	for i := range t.Types.Len() {
		var steady, now []claim
		for _, c := range q.Children {
			one := claim{
				weight: c.Fair.Weight, least: c.Fair.Min.Of(t.total, records.Resource{})[i], most: c.Fair.Max.Of(t.total, t.total)[i],
			}
			steady = append(steady, one)
			if len(t.uses[c.Path].Apps) == 0 {
				one = claim{} // it wants nothing now
			}
			now = append(now, one)
		}
		for c, n := range divide(due.steady[i], steady) {
			out[c].steady[i] = n
		}
		for c, n := range divide(due.now[i], now) {
			out[c].now[i] = n
		}
	}
	return out
}

// claim is what somebody gets of a resource: in proportion to his weight, within bounds.
type claim struct {
	weight      float64
	least, most int64
}

func (c *claim) at(ratio float64) int64 {
	return int64(min(max(c.weight*ratio, float64(c.least)), float64(c.most)))
}

// divide finds the smallest ratio of resource to weight at which the claims take all that there is, by bisection as YARN does
// (Hadoop: ComputeFairShares).
func divide(total int64, claims []claim) []int64 {
	taken := func(ratio float64) (sum int64) {
		for i := range claims {
			sum += claims[i].at(ratio)
		}
		return sum
	}
	var most int64
	for i := range claims {
		most += claims[i].most
	}
	total = min(total, most)
	low, high := 0.0, 1.0
	for taken(high) < total && high < math.MaxInt64 {
		high *= 2
	}
	const steps = 25
	for range steps {
		middle := (low + high) / 2
		sum := taken(middle)
		if sum == total {
			high = middle
			break
		}
		if sum < total {
			low = middle
		} else {
			high = middle
		}
	}
	out := make([]int64, len(claims))
	for i := range claims {
		out[i] = claims[i].at(high)
	}
	return out
}
