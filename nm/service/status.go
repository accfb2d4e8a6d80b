package service

import (
	"heddle/nm/container"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// StatusPB returns a container's status for calls and heartbeats.
func StatusPB(s container.Status, types records.ResourceTypes, host, ip string) *pb.ContainerStatus {
	m := &pb.ContainerStatus{}
	m.SetContainerId(s.Grant.ID.PB())
	m.SetState(s.State.PB())
	m.SetDiagnostics(s.Diagnostics)
	m.SetExitStatus(int32(s.ExitCode))
	m.SetCapability(types.PB(s.Grant.Resource))
	m.SetExecutionType(s.Grant.ExecutionType)
	m.SetContainerSubState(s.State.SubPB())
	if !s.Launched.IsZero() {
		m.SetContainerAttributes([]*pb.StringStringMap{attribute("HOST", host), attribute("IPS", ip)})
	}
	return m
}

func attribute(key, value string) *pb.StringStringMap {
	m := &pb.StringStringMap{}
	m.SetKey(key)
	m.SetValue(value)
	return m
}

// NMStatusPB returns a container's status for registrations.
func NMStatusPB(s container.Status, types records.ResourceTypes) *pb.NMContainerStatus {
	m := &pb.NMContainerStatus{}
	m.SetContainerId(s.Grant.ID.PB())
	m.SetContainerState(s.State.PB())
	m.SetResource(types.PB(s.Grant.Resource))
	p := &pb.Priority{}
	p.SetPriority(s.Grant.Priority)
	m.SetPriority(p)
	m.SetDiagnostics(s.Diagnostics)
	m.SetContainerExitStatus(int32(s.ExitCode))
	m.SetCreationTime(s.Grant.Created)
	m.SetNodeLabelExpression(s.Grant.NodeLabel)
	m.SetVersion(s.Grant.Version)
	m.SetExecutionType(s.Grant.ExecutionType)
	m.SetAllocationRequestId(s.Grant.AllocationRequestID)
	m.SetAllocationTags(s.Grant.AllocationTags)
	return m
}
