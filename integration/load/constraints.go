package load

import (
	"context"
	"fmt"

	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// ConstraintSettings have the scheduler meet placement constraints: KEY=VALUE.
func ConstraintSettings() []string {
	return []string{"yarn.resourcemanager.placement-constraints.handler=scheduler"}
}

// tag names the containers of a load whose ApplicationMasters ask by scheduling requests.
const tag = "load"

// Priorities of what ApplicationMasters ask for, and of requests that can't be met.
const (
	priority      = 20
	unmetPriority = 10
)

// scheduling asks for containers with a tag. A node may have as many of an application's as maxOnNode when the next one comes.
func scheduling(id int64, prio, count int32, size *pb.Resource, constraint *pb.PlacementConstraint) *pb.SchedulingRequest {
	r, sizing := &pb.SchedulingRequest{}, &pb.ResourceSizing{}
	sizing.SetNumAllocations(count)
	sizing.SetResources(size)
	r.SetResourceSizing(sizing)
	r.SetAllocationRequestId(id)
	r.SetPriority(&pb.Priority{})
	r.GetPriority().SetPriority(prio)
	r.SetAllocationTags([]string{tag})
	r.SetPlacementConstraint(constraint)
	return r
}

// counted is the constraint that a node has from least to most containers with a tag when another one comes.
func counted(of string, least, most int32) *pb.PlacementConstraint {
	c, target, simple := &pb.PlacementConstraint{}, &pb.PlacementConstraintTarget{}, &pb.SimplePlacementConstraint{}
	target.SetTargetType(pb.PlacementConstraintTarget_ALLOCATION_TAG)
	target.SetTargetKey("self")
	target.SetTargetValues([]string{of})
	simple.SetScope("node")
	simple.SetMinCardinality(least)
	simple.SetMaxCardinality(most)
	simple.SetTargetExpressions([]*pb.PlacementConstraintTarget{target})
	c.SetSimpleConstraint(simple)
	return c
}

// maxOnNode is above what a node has room for: constraints are looked at, and keep nothing away.
const maxOnNode = 1 << 20

// askUnmet asks for containers near a tag that none has: they wait for ever. n are the ApplicationMaster's, each a request of its own.
func (m *master) askUnmet(ctx context.Context, n int) error {
	const atOnce = 1000
	for from := 0; from < n; from += atOnce {
		req := &pb.AllocateRequest{}
		req.SetResponseId(m.response)
		var list []*pb.SchedulingRequest
		for i := from; i < min(n, from+atOnce); i++ {
			list = append(list, scheduling(int64(i+1), unmetPriority, 1, m.run.container, counted("absent", 1, maxOnNode)))
		}
		req.SetSchedulingRequests(list)
		resp, err := protocol.Allocate.Call(ctx, m.rm, req)
		if err != nil {
			return fmt.Errorf("ask for %d containers that can't be had: %w", n, err)
		}
		m.response = resp.GetResponseId()
	}
	return nil
}

// share is the part of n that the i-th of so many gets.
func share(n, i, of int) int { return (i+1)*n/of - i*n/of }

// row is a request for containers anywhere.
func (m *master) row(want int32) *pb.ResourceRequest {
	row := &pb.ResourceRequest{}
	row.SetPriority(&pb.Priority{})
	row.GetPriority().SetPriority(priority)
	row.SetResourceName("*")
	row.SetCapability(m.run.container)
	row.SetNumContainers(want)
	row.SetRelaxLocality(true)
	row.SetNodeLabelExpression(m.label)
	return row
}
