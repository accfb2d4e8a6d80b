package rest

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"heddle/rm/queue"
	"heddle/rm/queue/quantity"
	"heddle/rm/view"
	"heddle/yarn/records"
	"heddle/yarn/rest/daemon"
)

// queueMetrics makes YARN's beans of queues.
type queueMetrics struct {
	*server
	tree *queue.Tree
	uses map[string]*view.QueueUse
	all  view.Metrics
	host string
	// sizes is what nodes with labels have, by label.
	sizes map[string]records.Resource
}

// queueBeans are YARN's QueueMetrics, one for each queue. Sums of applications are the ledger's for the cluster, and the leader's for a single queue.
func (s *server) queueBeans(all view.Metrics, host string) (out []daemon.Bean) {
	tree, uses := s.uses()
	return queueMetrics{s, tree, uses, all, host, view.LabelsOf(s.View).Sizes()}.beans()
}

func (m queueMetrics) beans() (out []daemon.Bean) {
	const partition = "PartitionQueueMetrics,partition="
	out = append(out, daemon.Bean{Name: service + partition, Type: partition, Attrs: m.partition(nil)})
	m.tree.Root.All(func(q *queue.Queue) {
		path := pathOf(q)
		name := "QueueMetrics" + path
		out = append(out, daemon.Bean{Name: service + name, Type: name, Attrs: m.queue(q)})
		name = partition + path
		out = append(out, daemon.Bean{Name: service + name, Type: name, Attrs: m.partition(q)})
	})
	for name, size := range m.sizes {
		shares, n := m.tree.In(name).Effective(size), m
		n.all.Total = size
		bean := func(q *queue.Queue, id string, tags ...daemon.Attr) {
			u := view.QueueUse{Share: shares[q.Index]}
			if l := m.uses[q.Path].Labelled[name]; l != nil {
				u.Amount, u.State = l.Amount, l.State
			}
			attrs := append([]daemon.Attr{{Name: "tag.Partition", Value: name}, {Name: "tag.Context", Value: "yarn"}, {Name: "tag.Hostname", Value: m.host}}, tags...)
			attrs = append(attrs, n.use(q, &u, view.Active{}, false)...)
			out = append(out, daemon.Bean{Name: service + partition + name + id, Type: partition + name + id, Attrs: attrs})
		}
		bean(m.tree.Root, "")
		m.tree.Root.All(func(q *queue.Queue) { bean(q, pathOf(q), daemon.Attr{Name: "tag.Queue", Value: q.Path}) })
	}
	return out
}

// pathOf names a queue in the names of beans.
func pathOf(q *queue.Queue) string {
	var path strings.Builder
	for i, part := range strings.Split(q.Path, ".") {
		path.WriteString(",q" + strconv.Itoa(i) + "=" + part)
	}
	return path.String()
}

// custom returns the values of the resource types beyond memory and vcores (Hadoop: CustomResourceMetrics).
func (s *server) custom(name string, r records.Resource) (attrs []daemon.Attr) {
	for i := records.VCores + 1; i < s.Types.Len(); i++ {
		attrs = append(attrs, daemon.Attr{Name: name + "." + s.Types.At(i).Name, Value: r[i]})
	}
	return attrs
}

// amounts returns an amount as two attributes, and one for each further type under the name more, if it has one.
func (m queueMetrics) amounts(name, more string, r records.Resource) []daemon.Attr {
	attrs := []daemon.Attr{{Name: name + "MB", Value: r.MemoryMB()}, {Name: name + "VCores", Value: r.VCores()}}
	if more != "" {
		attrs = append(attrs, m.custom(more, r)...)
	}
	return attrs
}

func (m queueMetrics) queue(q *queue.Queue) []daemon.Attr {
	u := m.uses[q.Path]
	attrs := []daemon.Attr{{Name: "tag.Queue", Value: q.Path}, {Name: "tag.Context", Value: "yarn"}}
	if m.tree.Kind == queue.Fair {
		attrs = append(attrs, daemon.Attr{Name: "tag.SchedulingPolicy", Value: q.Fair.Policy})
	}
	attrs = append(attrs, daemon.Attr{Name: "tag.Hostname", Value: m.host})
	attrs = append(attrs, m.use(q, u, view.ActiveIn(q, m.uses), q.Parent == nil)...)
	switch m.tree.Kind {
	case queue.Capacity:
		return append(attrs, m.capacity(q, u)...)
	case queue.Fair:
		return append(attrs, m.fair(q, u)...)
	}
	return attrs
}

// capacity returns what YARN's CSQueueMetrics add. Guarantee and maximum are in steps of the smallest container.
func (m queueMetrics) capacity(q *queue.Queue, u *view.QueueUse) (attrs []daemon.Attr) {
	add := func(name string, value any) { attrs = append(attrs, daemon.Attr{Name: name, Value: value}) }
	calculator := quantity.Calculator{Dominant: m.tree.Dominant}
	masters := (&capacityTree{server: m.server, total: m.all.Total, uses: m.uses}).amLimit(q)
	guaranteed := calculator.TimesDown(m.all.Total, float64(u.Share.AbsoluteCapacity), m.MinAllocation)
	most := calculator.TimesDown(m.all.Total, float64(u.Share.AbsoluteMaximum), m.MinAllocation)
	used := float32(m.shareOf(u.Used, m.all.Total))
	held := u.Masters
	if !q.Leaf() {
		held = records.Resource{}
	}
	attrs = append(attrs, m.amounts("AMResourceLimit", "", masters)...)
	attrs = append(attrs, m.amounts("UsedAMResource", "", held)...)
	add("UsedCapacity", used/max(u.Share.AbsoluteCapacity, 1e-6))
	add("AbsoluteUsedCapacity", used)
	add("GuaranteedCapacity", u.Share.Capacity)
	add("GuaranteedAbsoluteCapacity", u.Share.AbsoluteCapacity)
	attrs = append(attrs, m.amounts("Guaranteed", "GuaranteedCapacity", guaranteed)...)
	add("MaxCapacity", u.Share.Maximum)
	add("MaxAbsoluteCapacity", u.Share.AbsoluteMaximum)
	return append(attrs, m.amounts("MaxCapacity", "MaxCapacity", most)...)
}

// unlimited is how Hadoop writes resources without a limit.
var unlimited = records.NewResource(math.MaxInt64, math.MaxInt32)

// fair returns what YARN's FSQueueMetrics add.
func (m queueMetrics) fair(q *queue.Queue, u *view.QueueUse) (attrs []daemon.Attr) {
	masters, limit := records.Resource{}, records.Resource{}
	if q.Leaf() {
		masters, limit = u.State.AMUsed, u.State.AMLimit
	}
	attrs = append(attrs, m.amounts("AmResourceUsage", "", masters)...)
	attrs = append(attrs, m.amounts("FairShare", "", u.State.Fair)...)
	attrs = append(attrs, m.amounts("SteadyFairShare", "", u.State.Steady)...)
	attrs = append(attrs, m.amounts("MinShare", "", u.Share.Min)...)
	attrs = append(attrs, m.amounts("MaxShare", "", q.Fair.Max.Of(m.all.Total, unlimited))...)
	attrs = append(attrs, m.amounts("MaxAMShare", "", limit)...)
	return append(attrs, daemon.Attr{Name: "MaxApps", Value: q.MaxParallelApps})
}

// partition returns a queue's attributes in the only partition, or the partition's own if q is nil.
func (m queueMetrics) partition(q *queue.Queue) []daemon.Attr {
	attrs, of := []daemon.Attr{{Name: "tag.Partition", Value: ""}}, m.tree.Root
	if q != nil {
		attrs, of = append(attrs, daemon.Attr{Name: "tag.Queue", Value: q.Path}), q
	}
	attrs = append(attrs, daemon.Attr{Name: "tag.Context", Value: "yarn"}, daemon.Attr{Name: "tag.Hostname", Value: m.host})
	u := *m.uses[of.Path]
	// YARN counts neither applications nor places for partitions.
	u.Past.Submitted, u.Past.Completed, u.Past.Failed, u.Past.Killed, u.Past.Firsts, u.Past.FirstsDelay = 0, 0, 0, 0, 0, 0
	u.Past.NodeLocal, u.Past.RackLocal, u.Past.OffSwitch = 0, 0, 0
	return append(attrs, m.use(of, &u, view.Active{}, false)...)
}

// runningFor are the durations, in minutes, by which YARN counts running applications.
var runningFor = []int64{0, 60, 300, 1440}

// countApps counts the applications of a queue, those with an ApplicationMaster of the cluster's first and then unmanaged ones, and those that run by how long they do.
func countApps(u *view.QueueUse) (running, pending [2]int, ages []int) {
	ages = make([]int, len(runningFor))
	for _, a := range u.Apps {
		kind := 0
		if a.Unmanaged {
			kind = 1
		}
		if a.AMContainer == (records.ContainerID{}) {
			pending[kind]++
			continue
		}
		running[kind]++
		for i := len(runningFor) - 1; i >= 0; i-- {
			if a.Elapsed >= runningFor[i]*60_000 {
				ages[i]++
				break
			}
		}
	}
	return running, pending, ages
}

// use returns the attributes of a queue's use and history. With cluster, applications count from when the cluster began.
func (m queueMetrics) use(q *queue.Queue, u *view.QueueUse, who view.Active, cluster bool) (attrs []daemon.Attr) {
	number := func(name string, value any) { attrs = append(attrs, daemon.Attr{Name: name, Value: value}) }
	running, pending, ages := countApps(u)
	for i, minutes := range runningFor {
		number("running_"+strconv.FormatInt(minutes, 10), ages[i])
	}
	number("ActiveApplications", who.Apps)
	number("ActiveUsers", who.Users)
	number("AllocatedContainers", u.Containers)
	number("AppsPending", pending[0]+pending[1])
	number("AppsRunning", running[0]+running[1])
	number("PendingContainers", u.Waiting)
	number("UnmanagedAppsPending", pending[1])
	number("UnmanagedAppsRunning", running[1])
	p := &u.Past
	ended := map[string]int64{"AppsSubmitted": p.Submitted, "AppsCompleted": p.Completed, "AppsFailed": p.Failed, "AppsKilled": p.Killed}
	if cluster {
		ended = map[string]int64{
			"AppsSubmitted": m.all.Submitted, "AppsCompleted": m.all.Completed, "AppsFailed": m.all.Failed, "AppsKilled": m.all.Killed,
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ended)) {
		number(name, ended[name])
		number("Unmanaged"+name, 0)
	}
	number("AggregateContainersAllocated", p.Granted)
	number("AggregateContainersPreempted", p.Preempted)
	number("AggregateContainersReleased", p.Released)
	number("AggregateMemoryMBPreempted", p.PreemptedResource.MemoryMB())
	number("AggregateMemoryMBSecondsPreempted", p.PreemptedMBSeconds)
	number("AggregateNodeLocalContainersAllocated", p.NodeLocal)
	number("AggregateOffSwitchContainersAllocated", p.OffSwitch)
	number("AggregateRackLocalContainersAllocated", p.RackLocal)
	number("AggregateVcoreSecondsPreempted", p.PreemptedVCoreSeconds)
	number("AggregateVcoresPreempted", p.PreemptedResource.VCores())
	number("AppAttemptFirstContainerAllocationDelayNumOps", p.Firsts)
	number("AppAttemptFirstContainerAllocationDelayAvgTime", float64(p.FirstsDelay)/float64(max(p.Firsts, 1)))
	number("ReservedContainers", u.Reserved.Containers)
	for _, a := range []struct {
		name string
		r    records.Resource
	}{
		{"Allocated", u.Used}, {"Available", u.Available(m.tree, q, m.all.Total)}, {"Pending", u.Pending}, {"Reserved", u.Reserved.Resource},
	} {
		attrs = append(attrs, m.amounts(a.name, a.name+"Resource", a.r)...)
	}
	return append(attrs, m.custom("AggregatePreemptedSeconds", records.Resource{})...)
}
