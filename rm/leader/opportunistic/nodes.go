package opportunistic

import (
	"cmp"
	"math"
	"slices"
	"time"

	"heddle/rm/ledger"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Status holds a node's report of its opportunistic containers (YARN: OpportunisticContainersStatus).
type Status struct {
	Running  int
	UsedGB   int64
	VCores   int
	Queued   int // opportunistic ones
	Waiting  int // all that wait
	Capacity int // of the queue
}

// mostQueued bounds what a node may say of its queue.
const mostQueued = 100_000

// StatusFrom reads a node's status. Numbers that make no sense are cut.
func StatusFrom(m *pb.OpportunisticContainersStatus) Status {
	count := func(n int32) int { return int(min(max(n, 0), mostQueued)) }
	return Status{
		Running: count(m.GetRunningOpportContainers()), UsedGB: min(max(m.GetOpportMemoryUsed(), 0), math.MaxInt32), VCores: count(m.GetOpportCoresUsed()),
		Queued: count(m.GetQueuedOpportContainers()), Waiting: count(m.GetWaitQueueLength()), Capacity: count(m.GetOpportQueueCapacity()),
	}
}

// node is a node with a queue for opportunistic containers.
type node struct {
	id       records.NodeID
	on       *ledger.Node
	label    string
	capacity int
	used     records.Resource             // by opportunistic containers that run
	length   int                          // of its queue, as it said last
	sent     map[records.ContainerID]bool // granted, and not heard to be there yet
	load     int                          // length, and what was sent, when that was last counted
	free     records.Resource             // by the ledger, at that time
	told     int                          // limit of the queue; −1: none
}

// Heard takes what a node says with a heartbeat.
func (a *Allocator) Heard(id records.NodeID, s Status) {
	if !a.cfg.Enabled {
		return
	}
	n := a.nodes[id]
	if n == nil && s.Capacity > 0 {
		n = &node{id: id, sent: map[records.ContainerID]bool{}, told: -1}
		a.nodes[id] = n
		a.sorted = time.Time{}
	}
	if n != nil {
		n.capacity, n.length = s.Capacity, s.Waiting
		n.used = records.NewResource(s.UsedGB<<10, int64(s.VCores))
	}
}

// NodeLeft forgets a node.
func (a *Allocator) NodeLeft(id records.NodeID) {
	if a.nodes[id] != nil {
		delete(a.nodes, id)
		a.sorted = time.Time{}
	}
}

// Restore takes a container of the ledger into account, and reports whether it is opportunistic: then it isn't for the scheduler.
func (a *Allocator) Restore(c *ledger.Container) bool {
	if c.ExecutionType != pb.ExecutionType_OPPORTUNISTIC {
		return false
	}
	a.live[c.ID] = true
	if c.State == ledger.ContainerAllocated {
		a.early[c.Node] = append(a.early[c.Node], c.ID)
	}
	return true
}

// sort brings the nodes into the order in which they get containers, unless that was done a moment ago: those with the shortest queue first, and of these, with the
// comparator QUEUE_LENGTH_THEN_RESOURCES, those with the most memory idle.
func (a *Allocator) sort() {
	if now := a.loop.Now(); a.sorted.IsZero() || now.Sub(a.sorted) >= a.cfg.SortInterval {
		a.sorted = now
	} else {
		return
	}
	a.ranking, a.hosts, a.racks = a.ranking[:0], map[string][]*node{}, map[string][]*node{}
	for id, n := range a.nodes {
		for _, c := range a.early[id] {
			n.sent[c] = true
		}
		delete(a.early, id)
		if a.look(n) {
			a.ranking = append(a.ranking, n)
		}
	}
	slices.SortFunc(a.ranking, func(x, y *node) int {
		idle := 0
		if a.cfg.ByResources {
			idle = cmp.Compare(y.free.MemoryMB(), x.free.MemoryMB())
		}
		return cmp.Or(cmp.Compare(x.load, y.load), idle, x.id.Compare(y.id))
	})
	for _, n := range a.ranking {
		a.hosts[n.id.Host] = append(a.hosts[n.id.Host], n)
		a.racks[n.on.Rack] = append(a.racks[n.on.Rack], n)
	}
}

// look counts what waits on a node, and reports whether it may get containers.
func (a *Allocator) look(n *node) bool {
	if n.on = a.work.Nodes[n.id]; n.on == nil || n.on.State != pb.NodeState_NS_RUNNING {
		return false
	}
	for id := range n.sent {
		if c := a.work.Container(id); c == nil || c.State != ledger.ContainerAllocated {
			delete(n.sent, id)
		}
	}
	n.load, n.free, n.label = n.length+len(n.sent), n.on.Capability.Sub(n.on.Used).Sub(n.used), a.cfg.LabelOf(n.id)
	return true
}

// takes reports whether a node has room for a container: in its queue, or, with QUEUE_LENGTH_THEN_RESOURCES, beside what it holds.
func (a *Allocator) takes(n *node, r *request) bool {
	switch {
	case n.label != r.label, !r.size.FitsIn(n.on.Capability):
		return false
	case n.load < n.capacity:
		return true
	}
	return a.cfg.ByResources && n.capacity > 0 && len(n.sent) < mostIdle && r.size.FitsIn(n.free)
}

// mostIdle is how many containers beyond its queue a node with idle resources may be sent that it hasn't been heard to have.
const mostIdle = 100

// Tick tells nodes how long their queues may be: what they have on average, and cfg.Deviations standard deviations more (Hadoop: QueueLimitCalculator).
func (a *Allocator) Tick(time.Time) {
	a.forget(len(a.live)/8 + 100)
	if len(a.nodes) == 0 {
		return
	}
	limit := a.limit()
	for id, n := range a.nodes {
		if n.told == limit {
			continue
		}
		if box := a.cfg.ToNode(id); box != nil {
			n.told = limit
			a.loop.AfterCommit(func() { box.LimitQueue(limit) })
		}
	}
}

// limit returns how many containers may wait on a node.
func (a *Allocator) limit() int {
	sum, squares := 0, 0.0
	for _, n := range a.nodes {
		sum += n.length
	}
	mean := sum / len(a.nodes)
	for _, n := range a.nodes {
		squares += float64((n.length - mean) * (n.length - mean))
	}
	deviation := math.Round(math.Sqrt(squares / float64(len(a.nodes))))
	return max(a.cfg.LeastQueue, min(a.cfg.MostQueue, int(float64(mean)+a.cfg.Deviations*deviation)))
}
