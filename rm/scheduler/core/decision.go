package core

import (
	"time"

	"heddle/rm/queue"
	"heddle/rm/scheduler/constraint"
	"heddle/rm/scheduler/handle"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// DecisionKind says what a decision is about.
type DecisionKind uint8

// Kinds of decisions.
const (
	Allocate  DecisionKind = iota // a container is granted
	Activate                      // an application may have containers from now on
	Reserve                       // a node is reserved for a container that doesn't fit on it yet
	Unreserve                     // it is reserved no more
	Kill                          // a killable container must be ended and freed, for one for which a node is reserved
)

// Decision is a decision of the scheduler. Only App is set where the kind is Activate.
type Decision struct {
	Kind                DecisionKind
	Container           handle.Container
	App                 handle.App
	Node                handle.Node
	Resource            records.Resource
	Priority            int32
	AllocationRequestID int64
	ExecutionType       pb.ExecutionType
	Locality            Locality
}

// Config holds the settings of a scheduler.
type Config struct {
	// Tree is the queues; nil is root.default alone, without limits.
	Tree *queue.Tree
	// Minimum is the smallest container. Limits of users and ApplicationMasters are multiples of it.
	Minimum records.Resource
	// Types are the resources that there are.
	Types records.ResourceTypes
	// Heartbeat is the interval of nodes' heartbeats, in which YARN counts delays for locality; 0 means no such delays.
	Heartbeat time.Duration
	// Handles are those that cores of several partitions share; nil: there is one core.
	Handles *handle.Spaces
	Placing *constraint.Table // likewise
}
