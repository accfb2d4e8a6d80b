package rest

import (
	"strings"
	"testing"
)

// Figures of opportunistic containers are there if applications can have such containers, under YARN's names and for Prometheus.
func TestOpportunisticFigures(t *testing.T) {
	const bean = "Hadoop:service=ResourceManager,name=OpportunisticSchedulerMetrics"
	for value, want := range map[string]int{"true": 1, "false": 0} {
		c := start(t, 1, "yarn.resourcemanager.opportunistic-container-allocation.enabled="+value)
		me := c.leader()
		got := c.ask(me, "GET", "/jmx?qry="+bean, "").body
		for _, attribute := range []string{
			"AllocatedOContainers", "AggregateOContainersAllocated", "AggregateOContainersReleased", "AggregateNodeLocalOContainersAllocated",
			"AggregateRackLocalOContainersAllocated", "AggregateOffSwitchOContainersAllocated",
			"AllocateLatencyOQuantilesNumOps", "AllocateLatencyOQuantiles50thPercentileTime", "AllocateLatencyOQuantiles99thPercentileTime",
		} {
			if strings.Count(got, `"`+attribute+`" : 0`) != want {
				t.Errorf("enabled=%s: %s of %s", value, attribute, got)
			}
		}
		got = c.ask(me, "GET", "/metrics", "").body
		for _, line := range []string{"heddle_rm_opportunistic_containers 0\n", `heddle_rm_opportunistic_granted_total{locality="rack-local"} 0`, "heddle_rm_opportunistic_released_total 0\n"} {
			if strings.Count(got, line) != want {
				t.Errorf("enabled=%s: %d times %s", value, strings.Count(got, line), line)
			}
		}
	}
}
