package preempt

import (
	"time"

	"heddle/rm/queue"
)

// CapacityOf returns the settings that a configuration of capacity queues makes.
func CapacityOf(s *queue.Preemption) CapacitySettings {
	return CapacitySettings{
		Interval: s.Interval, Wait: s.Wait, PerRound: s.PerRound, IgnoredOver: s.Ignored, Termination: s.Natural,
		ObserveOnly: s.ObserveOnly, Balance: s.Balance, BalanceWait: s.BalanceWait, Conservative: s.ConservativeDRF,
		ForReserved: s.ForReserved, AddReserved: s.BalanceForReserved,
		Underused: UnderusedSettings{Enabled: s.Underused.Enabled, Delay: s.Underused.Delay, Move: s.Underused.Move},
		Intra: IntraSettings{
			Enabled: s.Intra.Enabled, PriorityFirst: s.Intra.PriorityFirst, MostOfQueue: s.Intra.Most, Threshold: s.Intra.Threshold,
			Conservative: s.Intra.ConservativeDRF,
		},
	}
}

// FairOf returns the settings that a configuration of fair queues makes, with nodes that report in an interval.
func FairOf(f *queue.FairSettings, heartbeat time.Duration) FairSettings {
	return FairSettings{
		Utilization: f.UtilizationThreshold, Wait: f.Wait, Recheck: f.Wait + 4*heartbeat + f.StarvationInterval,
		SpareMasters: !f.PreemptMasters, Masters: f.MastersOf,
	}
}
