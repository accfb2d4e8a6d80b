package session

import (
	"heddle/rm/ledger"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Grant is a container as its ApplicationMaster learns of it.
type Grant struct {
	ID                  records.ContainerID
	Node                records.NodeID
	NodeHTTPAddress     string // host:port
	Resource            records.Resource
	Priority            int32
	AllocationRequestID int64
	ExecutionType       pb.ExecutionType
	Allocated           int64 // ms since 1970
	AM                  bool
	Tags                []string
	Version             int32 // how often it was resized
}

// GrantOf describes a live container to its ApplicationMaster.
func GrantOf(c *ledger.Container) Grant {
	return Grant{
		ID: c.ID, Node: c.Node, Resource: c.Resource, Priority: c.Priority, AllocationRequestID: c.AllocationRequestID,
		ExecutionType: c.ExecutionType, Allocated: c.Allocated, AM: c.AM, Tags: c.Tags(), Version: c.Version,
		NodeHTTPAddress: c.NodeHTTPAddress(),
	}
}

// Completion is the end of a container.
type Completion struct {
	ID          records.ContainerID
	Resource    records.Resource
	ExitStatus  int32
	Diagnostics string
	Execution   pb.ExecutionType
}

// CompletionOf describes a container that has ended to its ApplicationMaster.
func CompletionOf(c *ledger.Container) Completion {
	return Completion{
		ID: c.ID, Resource: c.Resource, ExitStatus: c.ExitStatus, Diagnostics: c.Diagnostic, Execution: c.ExecutionType,
	}
}

// NodeUpdate tells ApplicationMasters of a node that came or went.
type NodeUpdate struct {
	Node records.NodeID
	Kind pb.NodeUpdateType
}

// Resized is a container that has another size, by the wish of its ApplicationMaster.
type Resized struct {
	Kind  pb.ContainerUpdateType
	Grant Grant
}

// Signal is a command for a container (YARN: signalToContainer).
type Signal struct {
	Container records.ContainerID
	Command   pb.SignalContainerCommand
}
