// Package opportunistic shows monitors what has become of opportunistic containers: YARN's bean OpportunisticSchedulerMetrics, and the same for Prometheus.
package opportunistic

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"heddle/rm/leader"
	chances "heddle/rm/leader/opportunistic"
	"heddle/yarn/rest/daemon"
)

// Enabled switches such containers on, and these figures.
const Enabled = "yarn.resourcemanager.opportunistic-container-allocation.enabled"

// name holds the name of the bean in YARN.
const name = "OpportunisticSchedulerMetrics"

// latency begins the names of the bean's figures of times from asks to grants, in the last complete window of 10 s.
const latency = "AllocateLatencyOQuantiles"

// Bean returns YARN's bean, with zeros on a ResourceManager that doesn't lead, where l is nil.
func Bean(l *leader.Leader, host string) daemon.Bean {
	t, _ := totals(l)
	attrs := []daemon.Attr{
		{Name: "tag." + name, Value: "ResourceManager"},
		{Name: "tag.Context", Value: "yarn"},
		{Name: "tag.Hostname", Value: host},
		{Name: "AllocatedOContainers", Value: t.Allocated},
		{Name: "AggregateOContainersAllocated", Value: t.Granted()},
		{Name: "AggregateOContainersReleased", Value: t.Released},
		{Name: "AggregateNodeLocalOContainersAllocated", Value: t.NodeLocal},
		{Name: "AggregateRackLocalOContainersAllocated", Value: t.RackLocal},
		{Name: "AggregateOffSwitchOContainersAllocated", Value: t.OffSwitch},
		{Name: latency + "NumOps", Value: t.Latency.Count},
	}
	for i, percent := range chances.Percents {
		attrs = append(attrs, daemon.Attr{Name: fmt.Sprintf("%s%dthPercentileTime", latency, percent), Value: t.Latency.Of[i]})
	}
	return daemon.Bean{Name: "Hadoop:service=ResourceManager,name=" + name, Type: name, Attrs: attrs}
}

func totals(l *leader.Leader) (chances.Totals, bool) {
	if l == nil {
		return chances.Totals{}, false
	}
	return l.Opportunistic()
}

var (
	live     = prometheus.NewDesc("heddle_rm_opportunistic_containers", "Live opportunistic containers", nil, nil)
	granted  = prometheus.NewDesc("heddle_rm_opportunistic_granted_total", "Opportunistic containers granted in this leadership, by where their requests wanted them", []string{"locality"}, nil)
	released = prometheus.NewDesc("heddle_rm_opportunistic_released_total", "Opportunistic containers that ended or were promoted in this leadership", nil, nil)
)

// Collect gives Prometheus the figures of a leader.
func Collect(l *leader.Leader, ch chan<- prometheus.Metric) {
	t, ok := totals(l)
	if !ok {
		return
	}
	ch <- prometheus.MustNewConstMetric(live, prometheus.GaugeValue, float64(t.Allocated))
	ch <- prometheus.MustNewConstMetric(released, prometheus.CounterValue, float64(t.Released))
	for where, n := range map[string]int64{"node-local": t.NodeLocal, "rack-local": t.RackLocal, "off-switch": t.OffSwitch} {
		ch <- prometheus.MustNewConstMetric(granted, prometheus.CounterValue, float64(n), where)
	}
}
