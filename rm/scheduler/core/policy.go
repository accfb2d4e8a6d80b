package core

import (
	"heddle/rm/queue"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeset"
	"heddle/rm/scheduler/ranking"
	"heddle/yarn/records"
)

// Policy holds the differences between YARN's schedulers: limits, the order of queues and applications, when applications become
// active, and which requests reserve nodes. They share the state, the search for room, and the filling of reservations.
//
// A policy is called from the goroutine of its scheduler only. It reads the state freely, and changes it through methods.
type Policy interface {
	// Rules returns what is the same for all queues of the configuration. It is asked again when that is replaced.
	Rules() Rules
	// Order says how a queue orders its children, and a leaf its applications.
	Ranking(cfg *queue.Queue) (children, apps ranking.Rule)
	// Sorted returns the children of a queue in the order in which equal ones are served.
	Sorted(children []*queue.Queue) []*queue.Queue
	// LeafFor returns the path of the leaf for an application that names a queue.
	LeafFor(path string) string
	// Master returns what an ApplicationMaster counts as for limits on ApplicationMasters.
	Master(am records.Resource) records.Resource

	// Bound sets what a queue is guaranteed and its maximum, for the cluster's present size. shares are those of the configured queues.
	Bound(q *Queue, shares []queue.Share)
	// BoundUsers computes what limits of the users of a leaf hang on, after Bound.
	BoundUsers(q *Queue)
	// OverUserLimit reports whether a user may have nothing more now. It is asked where Rules say that users have limits.
	OverUserLimit(q *Queue, u *User) bool

	// QueueKey and AppKey compute the key of a queue among its siblings, and of an application in its leaf, and report whether
	// it has changed.
	QueueKey(q *Queue, r ranking.Rule) bool
	AppKey(a *App, r ranking.Rule) bool
	// Next returns the application that is to be served next, or ranking.Nothing.
	Next() int32

	// Delays is for how long a demand waits for its hosts before it takes a node of its racks, and before it takes any, in ms
	// since a worse node first had room for it. The demand has places, and there are nodes.
	Delays(d *Demand) (rack, anywhere int64)
	// HeldByOwn gets ready to look for a node for a demand, and reports whether a more urgent demand of the application keeps it from
	// all nodes. Shuns then says whether one comes first on a node. Both are asked where Rules say ownFirst.
	HeldByOwn(a *App, d *Demand) bool
	Shuns(n *nodeset.Node) bool

	// Activate makes those applications of a leaf active that the limits on ApplicationMasters admit.
	Activate(leaf int32)

	// Begin and End are called in each call of Schedule, before and after containers are given out.
	Begin()
	End()
	// NodeChanged, ContainerEnded and AppsChanged tell of changes: of what a node has, and whether it is open or reserved; of a
	// container that was freed; of which applications and queues there are, and of the size of the cluster.
	NodeChanged(h handle.Node)
	ContainerEnded(c handle.Container)
	AppsChanged()
	// Check looks for knowledge of the policy that is out of date.
	Check() error
}

// Rules are a policy's answers for all queues of a configuration.
type Rules struct {
	MemoryOnly bool // nodes and limits are measured by memory alone
	Parallel   bool // there are limits on how many applications run at once
	UserLimits bool // users have limits; see Policy.OverUserLimit
	Blocking   bool // a request that exceeds the headroom of its queue blocks those behind it
	OwnFirst   bool // of an application's requests the most urgent comes first on each node
	RackResets bool // a container in a preferred rack lets the delay for locality start again
	DueByRound bool // finding a leaf's fair share takes long: only a round of preemption does it. Else it is Queue.Guaranteed

	ReserveAtOnce   bool // a request that finds no room reserves a node in its turn
	ReservedIsUsed  bool // what is reserved counts as used by application, user and queues
	OnePerContainer bool // a request has no more reservations than containers that it asks for
	FillElsewhere   bool // a reservation is filled on any node that has room
}
