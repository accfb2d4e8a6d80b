package rest

import (
	"context"
	"regexp"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"heddle/rm/rest/opportunistic"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// collectors returns what /metrics shows: the cluster's sums, read on each request, and the process's own figures.
func (s *server) collectors() *prometheus.Registry {
	r := prometheus.NewRegistry()
	live := collectors.GoRuntimeMetricsRule{Matcher: regexp.MustCompile(`^/gc/heap/live:bytes$`)} // by which memory is planned
	r.MustRegister(collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(live)), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), clusterCollector{s}, s.records(), s.partitions())
	return r
}

type clusterCollector struct{ s *server }

var (
	descLeader    = desc("leader", "1 if this ResourceManager leads")
	descReachable = desc("member_reachable", "1 if that ResourceManager answers this one, 0 if not", "member")
	descBehind    = desc("member_behind_entries", "Entries of the leader's log that a ResourceManager's own lacks; only of those that answer", "member")
	descOneDisk   = desc("acknowledged_on_one_disk", "1 while this ResourceManager leads with the witness alone: what it acknowledges is on its disk only")
	descNodes     = desc("nodes", "Nodes by state", "state")
	descApps      = desc("applications", "Applications by state; ended ones since the cluster was created", "state")
	descSubmitted = desc("applications_submitted_total", "Applications submitted since the cluster was created")
	descCapacity  = desc("resource_capacity", "What the usable nodes have: memory in MiB, others in units", "resource")
	descUsed      = desc("resource_used", "What containers hold", "resource")
	descWaiting   = desc("resource_pending", "What is asked for and not yet granted", "resource")
	descLive      = desc("containers", "Live containers")
	descPending   = desc("containers_pending", "Containers asked for and not yet granted")
	descSuspended = desc("containers_suspended", "Suspended containers")
	descSuspends  = desc("suspensions_total", "Containers suspended by preemption in this leadership")
	descResumes   = desc("resumes_total", "Containers that resumed after that")
	descLasted    = desc("suspended_seconds_total", "For how long those were suspended")
	descTook      = desc("suspension_seconds_total", "Time until the resources of suspended containers were there: as quoted, and as measured", "is")
	descLog       = desc("log_bytes", "Size of the replicated log's files on this ResourceManager")
	descSnapshot  = desc("snapshot_bytes", "Size of its last snapshot")
	descFree      = desc("log_free_bytes", "Space that is free on their file system")
	descNeeded    = desc("log_needed_bytes", "Space below which it refuses large submissions while it leads; 0: it never does")
	descMoved     = desc("suspension_bytes_total", "Bytes paged out for that: as quoted, and as measured", "is")
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("heddle_rm_"+name, help, labels, nil)
}

// Describe implements prometheus.Collector. It describes nothing, so the registry collects nothing when the handler is made, when
// there is nothing to collect yet.
func (c clusterCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c clusterCollector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	leads := 0.0
	if c.s.Backend.Leader() != nil {
		leads = 1
	}
	gauge(descLeader, leads)
	c.members(gauge)
	space := c.s.Backend.Space()
	gauge(descLog, float64(space.Log))
	gauge(descSnapshot, float64(space.Snapshot))
	gauge(descFree, float64(space.Free))
	gauge(descNeeded, float64(space.Needed))
	m := c.s.View.Metrics()
	for n := range pb.NodeState_name {
		state := pb.NodeState(n)
		gauge(descNodes, float64(m.Nodes[state]), records.NodeStateName(state))
	}
	for _, a := range []struct {
		state string
		count int64
	}{
		{"pending", m.Pending}, {"running", m.Running}, {"finished", m.Completed}, {"failed", m.Failed}, {"killed", m.Killed},
	} {
		gauge(descApps, float64(a.count), a.state)
	}
	ch <- prometheus.MustNewConstMetric(descSubmitted, prometheus.CounterValue, float64(m.Submitted))
	for i := range c.s.Types.Len() {
		name := c.s.Types.At(i).Name
		gauge(descCapacity, float64(m.Total[i]), name)
		gauge(descUsed, float64(m.Used[i]), name)
		gauge(descWaiting, float64(m.Waiting[i]), name)
	}
	gauge(descLive, float64(m.Containers))
	gauge(descPending, float64(m.WaitingContainers))
	suspended := 0
	for _, n := range c.s.View.SuspendedByNode() {
		suspended += n
	}
	gauge(descSuspended, float64(suspended))
	c.suspensions(ch)
}

// members shows how each ResourceManager of the group is, as far as this one can see.
func (c clusterCollector) members(gauge func(*prometheus.Desc, float64, ...string)) {
	members, err := c.s.Backend.Members(context.Background())
	if err != nil {
		return // this ResourceManager is closing
	}
	oneDisk := 0.0
	if yes, _ := c.s.Backend.Trouble(); yes {
		oneDisk = 1
	}
	gauge(descOneDisk, oneDisk)
	for i := range members {
		m := &members[i]
		reachable := 0.0
		if m.Reachable {
			reachable = 1
			gauge(descBehind, float64(m.Behind), m.ID)
		}
		gauge(descReachable, reachable, m.ID)
	}
}

func (c clusterCollector) suspensions(ch chan<- prometheus.Metric) {
	l := c.s.Backend.Leader()
	if l == nil {
		return
	}
	sums := l.Levels().Totals()
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	counter(descSuspends, float64(sums.Suspensions))
	counter(descResumes, float64(sums.Resumes))
	counter(descLasted, sums.Lasted.Seconds())
	counter(descTook, sums.Quoted.Seconds(), "quoted")
	counter(descTook, sums.Took.Seconds(), "measured")
	counter(descMoved, float64(sums.QuotedBytes), "quoted")
	counter(descMoved, float64(sums.PagedOutBytes), "measured")
	if c.s.Conf.Bool(opportunistic.Enabled) {
		opportunistic.Collect(l, ch)
	}
}
