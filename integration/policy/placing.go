package policy

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"heddle/yarn/pb"
)

// schedule has an ApplicationMaster ask by a scheduling request, once.
func (m *master) schedule(ctx context.Context, s Step) error {
	count, err := strconv.Atoi(s.Args[1])
	if err != nil {
		return err
	}
	size, err := parseResource(s.Args[2], m.play.types)
	if err != nil {
		return err
	}
	r, priority, sizing := &pb.SchedulingRequest{}, &pb.Priority{}, &pb.ResourceSizing{}
	n, err := strconv.ParseInt(s.Options["priority"], 10, 32)
	if err != nil {
		return err
	}
	priority.SetPriority(int32(n))
	r.SetPriority(priority)
	r.SetAllocationRequestId(n)
	sizing.SetNumAllocations(int32(count))
	sizing.SetResources(m.play.types.PB(size))
	r.SetResourceSizing(sizing)
	r.SetAllocationTags(strings.Split(s.Options["tag"], ","))
	if name := s.Options["type"]; name != "" {
		kind := &pb.ExecutionTypeRequest{}
		kind.SetExecutionType(pb.ExecutionType(pb.ExecutionType_value[strings.ToUpper(name)]))
		r.SetExecutionType(kind)
	}
	if text := s.Options["constraint"]; text != "" {
		c, err := parseConstraint(text)
		if err != nil {
			return err
		}
		r.SetPlacementConstraint(c)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.scheduling = append(m.scheduling, r)
	err = m.allocate(ctx)
	m.scheduling = nil
	return err
}

// parseConstraint reads notin,node,TAGS, in,rack,TAGS, cardinality,node,TAGS,MIN,MAX, NAME=VALUE, NAME!=VALUE, and(X:Y), or(X:Y). A tag is
// NAMESPACE/TAG or a tag of the application itself.
func parseConstraint(text string) (*pb.PlacementConstraint, error) {
	out := &pb.PlacementConstraint{}
	if name, inner, has := strings.Cut(strings.TrimSuffix(text, ")"), "("); has {
		c := &pb.CompositePlacementConstraint{}
		c.SetCompositeType(pb.CompositePlacementConstraint_CompositeType(pb.CompositePlacementConstraint_CompositeType_value[strings.ToUpper(name)]))
		for part := range strings.SplitSeq(inner, ":") {
			x, err := parseConstraint(part)
			if err != nil {
				return nil, err
			}
			c.SetChildConstraints(append(c.GetChildConstraints(), x))
		}
		out.SetCompositeConstraint(c)
		return out, nil
	}
	c, target := &pb.SimplePlacementConstraint{}, &pb.PlacementConstraintTarget{}
	c.SetTargetExpressions([]*pb.PlacementConstraintTarget{target})
	out.SetSimpleConstraint(c)
	if name, value, is := strings.Cut(text, "="); is {
		c.SetScope("node")
		c.SetAttributeOpCode(pb.NodeAttributeOpCode_EQ)
		if strings.HasSuffix(name, "!") {
			c.SetAttributeOpCode(pb.NodeAttributeOpCode_NE)
		}
		target.SetTargetType(pb.PlacementConstraintTarget_NODE_ATTRIBUTE)
		target.SetTargetKey(strings.TrimSuffix(name, "!"))
		target.SetTargetValues([]string{value})
		return out, nil
	}
	words := strings.Split(text, ",")
	if len(words) < 3 {
		return nil, fmt.Errorf("%q is no constraint", text)
	}
	c.SetScope(words[1])
	tags, least, most := words[2:], 0, math.MaxInt32
	switch words[0] {
	case "notin":
		most = 0
	case "in":
		least = 1
	case "cardinality":
		var err, err2 error
		least, err = strconv.Atoi(tags[len(tags)-2])
		most, err2 = strconv.Atoi(tags[len(tags)-1])
		if err != nil || err2 != nil {
			return nil, fmt.Errorf("%q has no bounds", text)
		}
		tags = tags[:len(tags)-2]
	}
	c.SetMinCardinality(int32(least))
	c.SetMaxCardinality(int32(most))
	target.SetTargetType(pb.PlacementConstraintTarget_ALLOCATION_TAG)
	target.SetTargetKey("self")
	if at := strings.LastIndexByte(tags[0], '/'); at >= 0 {
		target.SetTargetKey(tags[0][:at])
		tags[0] = tags[0][at+1:]
	}
	target.SetTargetValues(tags)
	return out, nil
}

// parseRegistered reads constraints that an ApplicationMaster registers with.
func parseRegistered(text string) (all []*pb.PlacementConstraintMapEntry, err error) {
	for part := range strings.SplitSeq(text, ";") {
		tag, constraint, says := strings.Cut(part, ":")
		if !says {
			continue
		}
		e := &pb.PlacementConstraintMapEntry{}
		e.SetAllocationTags([]string{tag})
		c, err := parseConstraint(constraint)
		if err != nil {
			return nil, err
		}
		e.SetPlacementConstraint(c)
		all = append(all, e)
	}
	return all, nil
}

// noteRejected counts what the ResourceManager has rejected. Stock's reason is another one now and then: where it has placed a container, and the scheduler
// then has no room for it.
func (m *master) noteRejected(resp *pb.AllocateResponse) {
	for _, r := range resp.GetRejectedSchedulingRequests() {
		m.rejected += r.GetRequest().GetResourceSizing().GetNumAllocations()
	}
}

// showRejected records how many containers of an application were rejected.
func (m *master) showRejected(act *Act) {
	m.mu.Lock()
	defer m.mu.Unlock()
	act.Queues = append(act.Queues, fmt.Sprintf("rejected %s %d", m.name, m.rejected))
}
