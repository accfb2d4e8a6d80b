package queue

import (
	"math"
	"time"

	"heddle/rm/queue/settings"
	"heddle/rm/queue/suspension"
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
	// CreatedExpiry is how long a queue that was created on demand must be idle to be deleted; 0: none is (Hadoop: AutoCreatedQueueDeletionPolicy).
	CreatedExpiry time.Duration
	// EntitleEvery is how often the capacity of idle legacy leaves goes to others; 0: never (Hadoop: QueueManagementDynamicEditPolicy).
	EntitleEvery time.Duration
	Suspension   suspension.Settings
	StagePolicy  string // of queues that name none
	Fair         FairSettings
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

// Settings of schedulers; see package settings.
type (
	Preemption          = settings.Preemption
	UnderusedPreemption = settings.UnderusedPreemption
	IntraPreemption     = settings.IntraPreemption
	FairSettings        = settings.FairSettings
)

func defaultSettings() Settings {
	return Settings{
		NodeLocalityDelay: 40, RackLocalityDelay: -1, RackLocalityFullReset: true, ReservationsContinue: true,
		UserMaxParallel: math.MaxInt32, Preemption: settings.DefaultPreemption(), Suspension: suspension.Default(), Fair: settings.DefaultFair(),
	}
}
