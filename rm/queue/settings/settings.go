// Package settings has the settings of YARN's schedulers that are not of single queues: those of preemption, and of the FairScheduler.
package settings

import (
	"strings"
	"time"

	"heddle/conf"
	"heddle/yarn/records"
)

// Preemption configures how guarantees of capacity queues are restored (Hadoop: yarn.resourcemanager.monitor.capacity.preemption).
type Preemption struct {
	Enabled     bool // scheduler.monitor.enable, with ProportionalCapacityPreemptionPolicy among the policies
	ObserveOnly bool
	Interval    time.Duration // between rounds
	Wait        time.Duration // from telling the ApplicationMaster to the kill
	PerRound    float64       // maximum share of the cluster that one round preempts
	Ignored     float64       // tolerated excess over a queue's capacity, as a share of it
	Natural     float64       // share of the due amount that one round preempts
	// ForReserved selects containers so that reservations can be filled; BalanceForReserved adds what reservations lack.
	ForReserved, BalanceForReserved bool
	// Balance preempts further when all queues have their guarantee, after BalanceWait.
	Balance         bool
	BalanceWait     time.Duration
	ConservativeDRF bool
	Lazy            bool // lazy-preemption-enabled: containers are killed only when their resources are needed
	Underused       UnderusedPreemption
	Intra           IntraPreemption
}

// UnderusedPreemption is preemption for reservations of queues of higher priority (Hadoop:
// yarn.scheduler.capacity.ordering-policy.priority-utilization.underutilized-preemption).
type UnderusedPreemption struct {
	Enabled bool
	Delay   time.Duration // from the reservation to the selection of containers
	Move    bool          // reservations may move to other nodes for this
}

// IntraPreemption is preemption between applications of one queue.
type IntraPreemption struct {
	Enabled         bool
	Threshold       float64 // minimum use of the queue
	Most            float64 // maximum share of the queue that it preempts
	PriorityFirst   bool    // priority_first; otherwise userlimit_first
	ConservativeDRF bool
}

// FairSettings are the keys yarn.scheduler.fair.* of yarn-site.xml.
type FairSettings struct {
	Preemption           bool
	UtilizationThreshold float64         // use of the cluster above which preemption is done
	PreemptMasters       bool            // am.preemption
	MastersOf            map[string]bool // am.preemption.QUEUE: the same for single queues, by path
	Wait                 time.Duration   // waitTimeBeforeKill
	StarvationInterval   time.Duration   // waitTimeBeforeNextStarvationCheck
	SizeBasedWeight      bool
	// NodeThreshold and RackThreshold are the shares of the cluster's nodes that an application may pass over for locality, -1: none.
	NodeThreshold, RackThreshold float64
	NodeDelay, RackDelay         time.Duration // the same by time; negative: off
	ReservableNodes              float64       // maximum share of the nodes that one application may reserve
	// Increment is the step in which containers grow. ReservedFrom is the smallest ask that gets reservations, as a policy
	// measures it (reservation-threshold.increment-multiple increments).
	Increment, ReservedFrom records.Resource
	UpdateInterval          time.Duration // maximum age of fair shares, update-interval-ms
}

// DefaultPreemption is what the CapacityScheduler has without settings.
func DefaultPreemption() Preemption {
	return Preemption{
		Interval: 3 * time.Second, Wait: 15 * time.Second, PerRound: 0.1, Ignored: 0.1, Natural: 0.2, BalanceWait: 5 * time.Minute,
		Underused: UnderusedPreemption{Delay: time.Minute}, Intra: IntraPreemption{Threshold: 0.5, Most: 0.2, ConservativeDRF: true},
	}
}

// DefaultFair is what the FairScheduler has without settings.
func DefaultFair() FairSettings {
	return FairSettings{
		UtilizationThreshold: 0.8, PreemptMasters: true, Wait: 15 * time.Second, StarvationInterval: 10 * time.Second,
		NodeThreshold: -1, RackThreshold: -1, NodeDelay: -1, RackDelay: -1, ReservableNodes: 0.05,
		Increment: records.NewResource(1024, 1), ReservedFrom: records.NewResource(2048, 2), UpdateInterval: 500 * time.Millisecond,
	}
}

// Monitors reports whether a policy runs beside the scheduler.
func Monitors(c *conf.Config, policy string) bool {
	const monitor = "yarn.resourcemanager.scheduler.monitor."
	return c.Bool(monitor+"enable") && strings.Contains(c.Text(monitor+"policies"), policy)
}

// Capacity reads the preemption of the CapacityScheduler. Its own keys are read by truth and millis, which take a default.
func Capacity(c *conf.Config, truth func(key string, def bool) bool, millis func(key, def string) time.Duration) Preemption {
	const prefix = "yarn.resourcemanager.monitor.capacity.preemption."
	out := Preemption{
		Enabled:     Monitors(c, "ProportionalCapacityPreemptionPolicy"),
		ObserveOnly: c.Bool(prefix + "observe_only"), Interval: c.Duration(prefix + "monitoring_interval"),
		Wait: c.Duration(prefix + "max_wait_before_kill"), PerRound: c.Float(prefix + "total_preemption_per_round"),
		Ignored: c.Float(prefix + "max_ignored_over_capacity"), Natural: c.Float(prefix + "natural_termination_factor"),
		ForReserved:        c.Bool(prefix + "select_based_on_reserved_containers"),
		BalanceForReserved: c.Bool(prefix + "additional_res_balance_based_on_reserved_containers"),
		Balance:            c.Bool(prefix + "preemption-to-balance-queue-after-satisfied.enabled"),
		BalanceWait:        c.Duration(prefix + "preemption-to-balance-queue-after-satisfied.max-wait-before-kill"),
		ConservativeDRF:    c.Bool(prefix + "conservative-drf"),
		Lazy:               truth("lazy-preemption-enabled", false),
	}
	const underused = "ordering-policy.priority-utilization.underutilized-preemption."
	out.Underused = UnderusedPreemption{
		Enabled: truth(underused+"enabled", false), Move: truth(underused+"allow-move-reservation", false),
		Delay: millis(underused+"reserved-container-delay-ms", "60000"),
	}
	const intra = prefix + "intra-queue-preemption."
	out.Intra = IntraPreemption{
		Enabled: c.Bool(intra + "enabled"), Threshold: c.Float(intra + "minimum-threshold"), Most: c.Float(intra + "max-allowable-limit"),
		PriorityFirst:   strings.EqualFold(c.Text(intra+"preemption-order-policy"), "priority_first"),
		ConservativeDRF: c.Bool(intra + "conservative-drf"),
	}
	return out
}

// FairPrefix begins the keys of the FairScheduler in yarn-site.xml.
const FairPrefix = "yarn.scheduler.fair."

// Fair reads the keys of yarn-site.xml.
func Fair(c *conf.Config, types records.ResourceTypes) FairSettings {
	step := increment(c, types)
	masters := map[string]bool{}
	for path, value := range c.WithPrefix(FairPrefix + "am.preemption.") {
		masters[path] = !strings.EqualFold(strings.TrimSpace(value), "false")
	}
	update := c.Duration(FairPrefix + "update-interval-ms")
	if update <= 0 {
		update = DefaultFair().UpdateInterval
	}
	return FairSettings{
		MastersOf:  masters,
		Preemption: c.Bool(FairPrefix + "preemption"), UtilizationThreshold: c.Float(FairPrefix + "preemption.cluster-utilization-threshold"),
		PreemptMasters: c.Bool(FairPrefix + "am.preemption"), Wait: c.Duration(FairPrefix + "waitTimeBeforeKill"),
		StarvationInterval: c.Duration(FairPrefix + "waitTimeBeforeNextStarvationCheck"),
		SizeBasedWeight:    c.Bool(FairPrefix + "sizebasedweight"),
		NodeThreshold:      c.Float(FairPrefix + "locality.threshold.node"), RackThreshold: c.Float(FairPrefix + "locality.threshold.rack"),
		NodeDelay: c.Duration(FairPrefix + "locality-delay-node-ms"), RackDelay: c.Duration(FairPrefix + "locality-delay-rack-ms"),
		ReservableNodes: c.Float(FairPrefix + "reservable-nodes"),
		Increment:       step, ReservedFrom: reservedFrom(c, types, step),
		UpdateInterval: update,
	}
}

// reservedFrom returns the smallest ask that gets reservations. Types without an increment don't count.
func reservedFrom(c *conf.Config, types records.ResourceTypes, step records.Resource) records.Resource {
	for i := records.VCores + 1; i < types.Len(); i++ {
		if !c.IsSet(incrementKey(types, i)) {
			step[i] = 0
		}
	}
	for i, n := range step {
		step[i] = records.Whole(float64(n) * float64(float32(c.Float("yarn.scheduler.reservation-threshold.increment-multiple"))))
	}
	return step
}

func incrementKey(types records.ResourceTypes, i int) string {
	return "yarn.resource-types." + types.At(i).Name + ".increment-allocation"
}

// increment returns the step in which containers grow under YARN's FairScheduler.
func increment(c *conf.Config, types records.ResourceTypes) (r records.Resource) {
	for i := range types.Len() {
		key := incrementKey(types, i)
		switch {
		case c.IsSet(key):
			r[i] = int64(c.Int(key))
		case i == records.Memory:
			r[i] = int64(c.Int("yarn.scheduler.increment-allocation-mb"))
		case i == records.VCores:
			r[i] = int64(c.Int("yarn.scheduler.increment-allocation-vcores"))
		default:
			r[i] = 1
		}
	}
	return r
}
