package queue

import (
	"math"
	"strings"
	"time"

	"heddle/conf"
	"heddle/rm/queue/suspension"
	"heddle/yarn/records"
)

// Settings are a scheduler's settings besides those of queues.
type Settings struct {
	// NodeLocalityDelay is the number of missed opportunities before a container for a requested host goes to its rack, and
	// RackLocalityDelay how many more before it goes anywhere. -1 is the average number of the ask's containers per node
	// (Hadoop: node-locality-delay, rack-locality-additional-delay).
	NodeLocalityDelay, RackLocalityDelay int
	// RackLocalityFullReset restarts the count after a container on the rack.
	RackLocalityFullReset bool
	// ReservationsContinue lets an application with a reservation use other nodes that have room.
	ReservationsContinue bool
	// UserMaxParallel limits the applications that a user may run at once in all queues; UsersMaxParallel has limits of single
	// users.
	UserMaxParallel  int32
	UsersMaxParallel map[string]int32
	Preemption       Preemption
	Suspension       suspension.Settings
	StagePolicy      string // of queues that name none
	Fair             FairSettings
	// Placement decides which queue an application goes to.
	Placement Placement
}

// MaxParallel returns how many applications a user may run at once.
func (s *Settings) MaxParallel(user string) int32 {
	if n, ok := s.UsersMaxParallel[user]; ok {
		return n
	}
	return s.UserMaxParallel
}

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

func defaultSettings() Settings {
	return Settings{
		NodeLocalityDelay: 40, RackLocalityDelay: -1, RackLocalityFullReset: true, ReservationsContinue: true,
		UserMaxParallel: math.MaxInt32,
		Preemption: Preemption{
			Interval: 3 * time.Second, Wait: 15 * time.Second, PerRound: 0.1, Ignored: 0.1, Natural: 0.2, BalanceWait: 5 * time.Minute,
			Underused: UnderusedPreemption{Delay: time.Minute}, Intra: IntraPreemption{Threshold: 0.5, Most: 0.2, ConservativeDRF: true},
		},
		Suspension: suspension.Default(),
		Fair: FairSettings{
			UtilizationThreshold: 0.8, PreemptMasters: true, Wait: 15 * time.Second, StarvationInterval: 10 * time.Second,
			NodeThreshold: -1, RackThreshold: -1, NodeDelay: -1, RackDelay: -1, ReservableNodes: 0.05,
			Increment: records.NewResource(1024, 1), ReservedFrom: records.NewResource(2048, 2), UpdateInterval: 500 * time.Millisecond,
		},
	}
}

const fairPrefix = "yarn.scheduler.fair."

// fairSettings reads the keys of yarn-site.xml.
func fairSettings(c *conf.Config, types records.ResourceTypes) FairSettings {
	step := increment(c, types)
	masters := map[string]bool{}
	for path, value := range c.WithPrefix(fairPrefix + "am.preemption.") {
		masters[path] = !strings.EqualFold(strings.TrimSpace(value), "false")
	}
	update := c.Duration(fairPrefix + "update-interval-ms")
	if update <= 0 {
		update = defaultSettings().Fair.UpdateInterval
	}
	return FairSettings{
		MastersOf:  masters,
		Preemption: c.Bool(fairPrefix + "preemption"), UtilizationThreshold: c.Float(fairPrefix + "preemption.cluster-utilization-threshold"),
		PreemptMasters: c.Bool(fairPrefix + "am.preemption"), Wait: c.Duration(fairPrefix + "waitTimeBeforeKill"),
		StarvationInterval: c.Duration(fairPrefix + "waitTimeBeforeNextStarvationCheck"),
		SizeBasedWeight:    c.Bool(fairPrefix + "sizebasedweight"),
		NodeThreshold:      c.Float(fairPrefix + "locality.threshold.node"), RackThreshold: c.Float(fairPrefix + "locality.threshold.rack"),
		NodeDelay: c.Duration(fairPrefix + "locality-delay-node-ms"), RackDelay: c.Duration(fairPrefix + "locality-delay-rack-ms"),
		ReservableNodes: c.Float(fairPrefix + "reservable-nodes"),
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
	return times(step, float32(c.Float("yarn.scheduler.reservation-threshold.increment-multiple")))
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
