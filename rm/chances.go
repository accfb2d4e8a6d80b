package rm

import (
	"heddle/conf"
	"heddle/rm/leader/opportunistic"
)

// chances says how applications get opportunistic containers.
func chances(c *conf.Config) opportunistic.Settings {
	const rm = "yarn.resourcemanager."
	const queuing = rm + "nm-container-queuing."
	return opportunistic.Settings{
		Enabled: c.Bool(rm + "opportunistic-container-allocation.enabled"), NodesUsed: c.Int(rm + "opportunistic-container-allocation.nodes-used"),
		PerHeartbeat: c.Int(rm + "opportunistic.max.container-allocation.per.am.heartbeat"), SortInterval: c.Duration(queuing + "sorting-nodes-interval-ms"),
		ByResources: c.Text(queuing+"load-comparator") == "QUEUE_LENGTH_THEN_RESOURCES", Deviations: c.Float(queuing + "queue-limit-stdev"),
		LeastQueue: c.Int(queuing + "min-queue-length"), MostQueue: c.Int(queuing + "max-queue-length"),
	}
}
