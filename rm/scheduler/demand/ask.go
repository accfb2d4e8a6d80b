package demand

import (
	"heddle/rm/scheduler/constraint"
	"heddle/rm/scheduler/nodeset"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Any is the resource name of an ask for any node.
const Any = "*"

// Ask is one row of an application's requests (YARN: ResourceRequest). Rows are absolute: one replaces what the
// application had asked before under the same priority, allocation request id and name. The row for Any holds the total;
// rows for hosts and racks say where containers are preferred.
type Ask struct {
	Priority            int32 // lower numbers are served first
	AllocationRequestID int64
	Name                string // host, rack, or Any
	Capability          records.Resource
	Count               int32
	RelaxLocality       bool // on Any and racks: containers may also go where only this row admits them
	ExecutionType       pb.ExecutionType
	Work                nodeset.Work
	Label               string // on Any: of the nodes that it is for; none: those without a label
	Stays               bool   // it isn't for nodes that another partition shares
	// Scheduling (of YARN's SchedulingRequest) is where its containers may go, besides, and which allocation tags they have; nil: anywhere, and none. On Any.
	Scheduling *constraint.Request
}

// Locality says how near to its preferred places a container was put.
type Locality uint8

// Localities, best first.
const (
	NodeLocal Locality = iota
	RackLocal
	OffSwitch // also where there was no preference
)
