package report

import (
	"iter"
	"sync/atomic"

	"heddle/rm/leader/lives"
	"heddle/rm/leader/loop"
	"heddle/rm/leader/opportunistic"
	"heddle/rm/ledger"
	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/explain"
	"heddle/yarn/records"
)

// Scheduler is what this package asks the driver (eventlog.Recorder).
type Scheduler interface {
	Pending(h scheduler.AppHandle) int64
	PendingResource(h scheduler.AppHandle) records.Resource
	Asks(h scheduler.AppHandle) []scheduler.Ask
	Blacklist(h scheduler.AppHandle) []string
	UsesOf(h scheduler.AppHandle) []scheduler.Use
	ByLabel() map[string][]scheduler.QueueView
	Reservations() []scheduler.Reservation
	Headroom() records.Resource
	OpenNodes() int
	Queues() []scheduler.QueueView
	Queue(path string) (scheduler.QueueView, bool)
	Suspends() bool

	Explain(h scheduler.AppHandle) []explain.Reason
	ExplainAll(apps []scheduler.AppHandle, each func([]explain.Reason) bool)
	WhatIf(path, user string, size records.Resource, master bool) (explain.Reason, error)
	Activities(h scheduler.NodeHandle) explain.Activity
	OnNodes(h scheduler.AppHandle, nodes []scheduler.NodeHandle) [][]explain.Activity
}

// Cluster maps the cluster's applications, containers and nodes between ids and the scheduler's handles. It is asked in the loop's operations alone.
type Cluster interface {
	App(id records.ApplicationID) (h scheduler.AppHandle, progress float32, ok bool) // of a live application
	Apps() iter.Seq[scheduler.AppHandle]
	AppOf(h scheduler.AppHandle) (id records.ApplicationID, ok bool)
	Node(id records.NodeID) (h scheduler.NodeHandle, ok bool)
	Nodes() iter.Seq[records.NodeID]
	NodeOf(h scheduler.NodeHandle) (id records.NodeID, ok bool)
}

// Sizes says which containers can be had (request.Checker).
type Sizes interface {
	Maximum() records.Resource
	Normalize(r, maximum records.Resource) (records.Resource, error)
}

// Opportunistic knows of opportunistic containers, of which the scheduler doesn't (opportunistic.Allocator). It is asked in the loop's operations alone.
type Opportunistic interface {
	Explain(id records.ApplicationID) []explain.Reason
	Totals() opportunistic.Totals
}

// Config is what Reports are made from.
type Config struct {
	Scheduler Scheduler
	Cluster   Cluster
	Sizes     Sizes
	// Queues returns the tree of queues that the scheduler works with. It is for the loop's operations; Live is the same for all others.
	Queues        func() *queue.Tree
	Live          *queue.Live
	Opportunistic Opportunistic
	// MaxAllocation is the configured maximum of a container.
	MaxAllocation records.Resource
}

// Reports answers questions. Its methods are safe for concurrent use, but for ShowReserved.
type Reports struct {
	Lives    lives.Lives // of containers: others than the leader call Of alone
	cfg      Config
	loop     loop.Operations
	work     *ledger.State
	reserved atomic.Pointer[map[records.ApplicationID]Reserved]
	shares   fairShares
}

// New makes the Reports of a working copy.
func New(loop loop.Operations, work *ledger.State, cfg Config) *Reports {
	return &Reports{cfg: cfg, loop: loop, work: work}
}
