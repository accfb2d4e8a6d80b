package client

import (
	"heddle/yarn/pb"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// Allocation is what an Allocate brought.
type Allocation struct {
	Containers []Container // each serves a request
	Completed  []Completed
	Nodes      []NodeUpdate
	// Preemption names containers that the ResourceManager wants back.
	Preemption []Preemption
	// Previous are containers of earlier attempts that turned out to go on.
	Previous []Container
	// Refused are requests that the ResourceManager refuses. They are dropped.
	Refused []Refusal
	// Resynced says that another ResourceManager has taken over and knows everything again.
	Resynced bool

	Headroom     records.Resource // what the application could still get
	ClusterNodes int
}

// Container is an allocated container.
type Container struct {
	ID            records.ContainerID
	Node          records.NodeID
	HTTPAddress   string // of the node's web pages, host:port
	Resource      records.Resource
	Priority      int32
	ExecutionType ExecutionType
	Token         token.Token // the right to start it
	Request       RequestID   // that it serves; 0 for containers of earlier attempts
	Tags          []string    // of that request
}

func container(c *pb.Container, types records.ResourceTypes) Container {
	// Types that the configuration doesn't have are of no concern to the application.
	resource, _ := types.From(c.GetResource())
	return Container{
		ID:            records.ContainerIDFrom(c.GetId()),
		Node:          records.NodeIDFrom(c.GetNodeId()),
		HTTPAddress:   c.GetNodeHttpAddress(),
		Resource:      resource,
		Priority:      c.GetPriority().GetPriority(),
		ExecutionType: c.GetExecutionType(),
		Token:         token.FromPB(c.GetContainerToken()),
	}
}

// Completed is the end of a container.
type Completed struct {
	ID          records.ContainerID
	ExitStatus  int32 // of the process, or one of records.Exit…
	Diagnostics string
}

func completed(s *pb.ContainerStatus) Completed {
	return Completed{records.ContainerIDFrom(s.GetContainerId()), s.GetExitStatus(), s.GetDiagnostics()}
}

// NodeUpdate says that a node has come, gone, or is about to go.
type NodeUpdate struct {
	Node   records.NodeID
	State  pb.NodeState
	Rack   string
	Health string // report of an unhealthy node
}

// Usable reports whether containers on the node go on.
func (n NodeUpdate) Usable() bool {
	switch n.State {
	case pb.NodeState_NS_NEW, pb.NodeState_NS_RUNNING, pb.NodeState_NS_DECOMMISSIONING:
		return true
	}
	return false
}

func nodeUpdate(n *pb.NodeReport) NodeUpdate {
	return NodeUpdate{records.NodeIDFrom(n.GetNodeId()), n.GetNodeState(), n.GetRackName(), n.GetHealthReport()}
}

// Preemption names a container that the ResourceManager wants back.
type Preemption struct {
	Container records.ContainerID
	// Strict containers will be taken; of the others any that free as much will do.
	Strict bool
}

func preemption(m *pb.PreemptionMessage) []Preemption {
	var out []Preemption
	for _, c := range m.GetStrictContract().GetContainer() {
		out = append(out, Preemption{records.ContainerIDFrom(c.GetId()), true})
	}
	for _, c := range m.GetContract().GetContainer() {
		out = append(out, Preemption{records.ContainerIDFrom(c.GetId()), false})
	}
	return out
}

// Refusal names requests that the ResourceManager refuses, and why.
type Refusal struct {
	Requests []RequestID
	Err      error
}
