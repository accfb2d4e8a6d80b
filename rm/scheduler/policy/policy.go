package policy

import (
	"heddle/rm/queue"
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/explain"
	"heddle/rm/scheduler/fairshare"
	"heddle/rm/scheduler/policy/capacity"
	_ "heddle/rm/scheduler/policy/eunomia"
	"heddle/rm/scheduler/policy/fair"
	"heddle/rm/scheduler/policy/fifo"
	_ "heddle/rm/scheduler/policy/fresh" // which registers itself, as do others that queues name
	_ "heddle/rm/scheduler/policy/hopper"
	_ "heddle/rm/scheduler/policy/omo"
	"heddle/yarn/records"
)

// Policy is all that a policy does: it takes part in decisions (core.Policy), explains them (explain.Policy), and tells people and
// preemption about limits.
type Policy interface {
	core.Policy
	explain.Policy
	// AMLimit returns what ApplicationMasters of a leaf may have, and UserAMShare what those of one of its users, or without one of any of weight 1, may have by the limits
	// of users alone.
	AMLimit(leaf int32) records.Resource
	UserAMShare(q *core.Queue, u *core.User) records.Resource
	// UserLimit returns what a user of weight 1 may have while it asks for more.
	UserLimit(q *core.Queue) records.Resource
	// UserLimitsOfAll are, by leaf, what users of weight 1 may have beside all others, also those without further requests. It is
	// nil where users have no limits.
	UserLimitsOfAll() map[int32]records.Resource
	// HeadroomOf returns what an application could get at most by the limits of its queues and its user.
	HeadroomOf(a *core.App) records.Resource
	// Shares are, by queue, what queues and applications are due by fair shares, as it is now. It is nil where there are none.
	Shares() map[int32]*fairshare.Queue
}

// known are the policies by the kind of their queues. A policy comes in by its line here.
var known = map[queue.Kind]func(*core.Core) Policy{
	queue.Capacity: func(c *core.Core) Policy { return capacity.New(c) },
	queue.Fair:     func(c *core.Core) Policy { return fair.New(c) },
	queue.FIFO:     func(c *core.Core) Policy { return fifo.New(c) },
}

// New returns the policy for queues of a kind. There is one for each kind of package queue, which refuses names that it doesn't know.
func New(kind queue.Kind, c *core.Core) Policy { return known[kind](c) }
