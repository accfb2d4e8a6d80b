package client

import (
	"heddle/yarn/pb"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// Allocation holds what an Allocate call returned.
type Allocation struct {
	Containers []Container // newly allocated; each serves a request
	Completed  []Completed
	Nodes      []NodeUpdate
	// Preemption names containers that the ResourceManager wants back.
	Preemption []Preemption
	// Previous are running containers of earlier attempts that the ResourceManager has found since.
	Previous []Container
	// Refused are requests that the ResourceManager rejected. They are no longer outstanding.
	Refused []Refusal
	// ProbeNodes are nodes that take probes of short tasks, or are busy with long ones or not, since the last call, and ProbesGone those that don't any more.
	ProbeNodes []ProbeNode
	ProbesGone []records.NodeID
	// Suspended are containers that are suspended from now on, until they are among Resumed. They keep their files, memory and connections,
	// but may not answer for a long time. Only Heddle's ResourceManager tells.
	Suspended, Resumed []records.ContainerID
	// RefusedSwaps are containers that run on though Swap wanted them to be suspended.
	RefusedSwaps []RefusedSwap
	// Resynced says that another ResourceManager has taken over, and that the Master has sent it everything again.
	Resynced bool

	Hints   *Hints      // of the application's queue, if they have changed
	Classes []NodeClass // of nodes whose class has changed; after Resynced those before hold no more

	Headroom     records.Resource // resources that the application may still get
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
	Token         token.Token // permits to start it
	Request       RequestID   // that the container serves; 0 for containers of earlier attempts
	Tags          []string    // of that request
}

func container(c *pb.Container, types records.ResourceTypes) Container {
	// Ignore resource types that the configuration lacks: the application can't use them.
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

// NodeUpdate says that a node has joined, left, or is about to leave.
type NodeUpdate struct {
	Node   records.NodeID
	State  pb.NodeState
	Rack   string
	Health string // why the node is unhealthy
}

// Usable reports whether containers on the node continue to run.
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

// ProbeNode is a node that takes probes of short tasks, at a port of its own.
type ProbeNode struct {
	Node  records.NodeID
	Port  int
	Token token.Token
	Long  bool // it is busy with long tasks
	Short bool // it is of the short partition, which takes no long tasks
}

// Preemption names a container that the ResourceManager wants back.
type Preemption struct {
	Container records.ContainerID
	// Strict containers will be taken. Others are spared if the application releases as much elsewhere.
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

// Refusal names requests that the ResourceManager rejected, and why.
type Refusal struct {
	Requests []RequestID
	Err      error
}
