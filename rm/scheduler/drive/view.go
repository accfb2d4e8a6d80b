package drive

import (
	"heddle/rm/queue/suspension"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/explain"
	"heddle/yarn/records"
)

// View answers questions about a scheduler. None of its methods changes anything. A Driver has them. A type that records the changes of a Driver
// passes on these alone: there is no way to schedule past the record.
type View interface {
	appView
	queueView
	nodeView
	containerView

	// NextWake and NextRound return when Step is wanted, in ms; math.MaxInt64 if it isn't.
	NextWake() int64
	NextRound() int64
	// Changes counts what has changed.
	Changes() int64
}

type appView interface {
	AppState(scheduler.AppHandle) scheduler.AppState
	Asks(scheduler.AppHandle) []scheduler.Ask
	Blacklist(scheduler.AppHandle) []string
	CopiesOf(scheduler.AppHandle) (n int64, known bool)
	Excluded(scheduler.AppHandle) int
	Explain(scheduler.AppHandle) []explain.Reason
	ExplainAll(apps []scheduler.AppHandle, tell func([]explain.Reason) bool)
	HeadroomOf(scheduler.AppHandle) records.Resource
	OnNodes(scheduler.AppHandle, []scheduler.NodeHandle) [][]explain.Activity
	Outstanding(scheduler.AppHandle) func(priority int32, id int64) (row scheduler.Ask, over, tried bool)
	Pending(scheduler.AppHandle) int64
	PendingResource(scheduler.AppHandle) records.Resource
	Requests(scheduler.AppHandle) (requests, places int)
	RequestsWith(scheduler.AppHandle, []scheduler.Ask) (requests, places int)
	StandingOf(scheduler.AppHandle) string
	UsesOf(scheduler.AppHandle) []scheduler.Use
}

type queueView interface {
	ByLabel() map[string][]scheduler.QueueView
	Queue(path string) (scheduler.QueueView, bool)
	Queues() []scheduler.QueueView
	QueuesIn(label string) []scheduler.QueueView
	Suspends() bool
	TakesApps(path string) bool
	WhatIf(path, name string, capability records.Resource, master bool) (explain.Reason, error)
	Withheld(path string) records.Resource
}

type nodeView interface {
	Activities(scheduler.NodeHandle) explain.Activity
	Headroom() records.Resource
	LabelOf(scheduler.NodeHandle) string
	Labels() []string
	Largest() records.Resource
	OpenNodes() int
	Reservations() []scheduler.Reservation
	SizeOf(label string) (size records.Resource, open int)
}

type containerView interface {
	Claim(scheduler.ContainerHandle) records.Resource
	ContainerID(scheduler.ContainerHandle) records.ContainerID
	Growing(scheduler.ContainerHandle) bool
	Held(scheduler.ContainerHandle) records.Resource
	Loss(scheduler.ContainerHandle) (until int64, reason string, ok bool)
	Means(scheduler.ContainerHandle) (suspension.Means, string)
	NodeOf(scheduler.ContainerHandle) scheduler.NodeHandle
	Suspended(scheduler.ContainerHandle) (since int64, by string, ok bool)
	TagsOf(scheduler.ContainerHandle) []string
}
