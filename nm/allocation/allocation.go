// Package allocation reads from a container's token what a ResourceManager has allocated on a node.
package allocation

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Grant is the contents of a container token: the container that may run here, its user, and its size.
type Grant struct {
	ID                  records.ContainerID
	User                string // user who submitted the application
	Resource            records.Resource
	Priority            int32
	Created             int64 // ms since 1970, when the ResourceManager allocated it
	Version             int32 // grows with every change of its size
	ExecutionType       pb.ExecutionType
	Type                pb.ContainerType
	AllocationRequestID int64
	AllocationTags      []string
	NodeLabel           string
	RMIdentifier        int64
	LogContext          *pb.LogAggregationContext // nil stands for the defaults
}

// From reads a token's identifier. It fails for unknown resource types.
func From(id *pb.ContainerTokenIdentifier, types records.ResourceTypes) (Grant, error) {
	resource, err := types.From(id.GetResource())
	if err != nil {
		return Grant{}, fmt.Errorf("container %s: %w", records.ContainerIDFrom(id.GetContainerId()), err)
	}
	return Grant{
		ID:                  records.ContainerIDFrom(id.GetContainerId()),
		User:                id.GetAppSubmitter(),
		Resource:            resource,
		Priority:            id.GetPriority().GetPriority(),
		Created:             id.GetCreationTime(),
		Version:             id.GetVersion(),
		ExecutionType:       id.GetExecutionType(),
		Type:                id.GetContainerType(),
		AllocationRequestID: id.GetAllocationRequestId(),
		AllocationTags:      id.GetAllocationTags(),
		NodeLabel:           id.GetNodeLabelExpression(),
		RMIdentifier:        id.GetRmIdentifier(),
		LogContext:          id.GetLogAggregationContext(),
	}, nil
}

// onLent is the bit in a container's number that the ResourceManager never sets: it would need to start 2^39 containers in one of its lives.
const onLent = 1 << 39

// OnLent returns the number of a container that the node starts by itself, for short tasks, within what the ResourceManager has lent it.
func OnLent(n int64) int64 { return onLent | n&(onLent-1) }

// IsOnLent reports whether a container is one of those. The ResourceManager doesn't know it.
func IsOnLent(id records.ContainerID) bool { return id.ID&onLent != 0 }

// Counted returns what of a container the node's room for containers loses: nothing if it is for short tasks, which have a room of their own.
func (g *Grant) Counted() records.Resource {
	if IsOnLent(g.ID) {
		return records.Resource{}
	}
	return g.Resource
}

// Master reports whether the container runs its application's ApplicationMaster.
func (g *Grant) Master() bool { return g.Type == pb.ContainerType_APPLICATION_MASTER }

// Expiry returns when a container's token expires, in ms since 1970; 0 if its identifier makes no sense.
func Expiry(identifier []byte) int64 {
	var id pb.ContainerTokenIdentifier
	_ = proto.Unmarshal(identifier, &id)
	return id.GetExpiryTimeStamp()
}
