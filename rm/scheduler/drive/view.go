package drive

import (
	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// Facts answers what a Driver knows beyond its scheduler. None of its methods changes anything.
type Facts interface {
	ContainerID(scheduler.ContainerHandle) records.ContainerID
	Growing(scheduler.ContainerHandle) bool
	Loss(scheduler.ContainerHandle) (until int64, reason string, ok bool)
	Suspended(scheduler.ContainerHandle) (since int64, by string, ok bool)
	Suspends() bool
	NextRound() int64
}
