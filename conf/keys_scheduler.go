package conf

// schedulerKeys are YARN's keys of schedulers, apart from queues.
func schedulerKeys() []Key {
	const (
		fair       = "yarn.scheduler.fair."
		preemption = "yarn.resourcemanager.monitor.capacity.preemption."
		intra      = preemption + "intra-queue-preemption."
		balance    = preemption + "preemption-to-balance-queue-after-satisfied."
	)
	return []Key{
		boolean(preemption+"observe_only", "false", "select what to preempt, but preempt nothing"),
		millis(preemption+"monitoring_interval", "3000", "time between rounds of preemption").min(1),
		millis(preemption+"max_wait_before_kill", "15000", "time from telling an ApplicationMaster to the kill").min(0),
		float(preemption+"total_preemption_per_round", "0.1", "maximum share of the cluster that one round preempts").min(0).max(1),
		float(preemption+"max_ignored_over_capacity", "0.1", "tolerated excess of a queue, as a share of its capacity").min(0),
		float(preemption+"natural_termination_factor", "0.2", "share of the excess that one round preempts").min(0).max(1),
		boolean(preemption+"select_based_on_reserved_containers", "false", "preempt on nodes that are reserved"),
		boolean(preemption+"additional_res_balance_based_on_reserved_containers", "false", "also preempt what reservations lack"),
		boolean(preemption+"conservative-drf", "false", "preempt only what lowers the dominant resource"),
		boolean(balance+"enabled", "false", "preempt further when all queues have their guarantee"),
		millis(balance+"max-wait-before-kill", "300000", "time to the kill in that case").min(0),
		boolean(intra+"enabled", "false", "preempt between applications of a queue"),
		float(intra+"minimum-threshold", "0.5", "minimum use of a queue for that").min(0).max(1),
		float(intra+"max-allowable-limit", "0.2", "maximum share of a queue that it preempts").min(0).max(1),
		enum(intra+"preemption-order-policy", "userlimit_first", "whether users' limits or priorities come first", "userlimit_first", "priority_first"),
		boolean(intra+"conservative-drf", "true", "preempt only what lowers the dominant resource, within a queue"),
		millis("yarn.resourcemanager.monitor.capacity.queue-management.monitoring-interval", "1500", "time between rounds in which legacy leaves get and lose capacity").min(1),
		boolean(fair+"preemption", "false", "restore fair shares by preemption"),
		float(fair+"preemption.cluster-utilization-threshold", "0.8", "minimum use of the cluster for that").min(0).max(1),
		boolean(fair+"am.preemption", "true", "let ApplicationMasters be preempted"),
		boolean(fair+"am.preemption.<queue>", "true", "the same for one queue, by its path"),
		millis(fair+"waitTimeBeforeKill", "15000", "time from telling an ApplicationMaster to the kill").min(0),
		millis(fair+"waitTimeBeforeNextStarvationCheck", "10000", "time after preemption for an application before its starvation is checked again").min(0),
		boolean(fair+"sizebasedweight", "false", "weigh applications by the size of their asks"),
		boolean(fair+"assignmultiple", "false", "place several containers in one heartbeat of a node").later(),
		boolean(fair+"dynamic.max.assign", "true", "how many of them").later(),
		integer(fair+"max.assign", "-1", "how many of them").later(),
		float(fair+"locality.threshold.node", "-1", "share of the nodes to pass over for a requested node, -1 none").min(-1).max(1),
		float(fair+"locality.threshold.rack", "-1", "share of the nodes to pass over for a node in its rack, -1 none").min(-1).max(1),
		millis(fair+"locality-delay-node-ms", "-1", "time to wait for a requested node, if scheduling is continuous").min(-1),
		millis(fair+"locality-delay-rack-ms", "-1", "time to wait for one in its rack").min(-1),
		float(fair+"reservable-nodes", "0.05", "maximum share of the nodes that one application may reserve").min(0).max(1),
		boolean(fair+"continuous-scheduling-enabled", "false", "place containers between heartbeats; Heddle always does").later(),
		millis(fair+"continuous-scheduling-sleep-ms", "5", "time between rounds of that").later(),
		millis(fair+"update-interval-ms", "500", "time between computations of shares"),
		boolean(fair+"migration.mode", "false", "mode of a tool that converts configurations").later(),
		boolean(fair+"no-terminal-rule.check", "false", "check of that tool").later(),
	}
}
