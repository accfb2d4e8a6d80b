package leader

import (
	"slices"
	"strings"
	"testing"

	"heddle/rm/leader/constraints"
	"heddle/yarn/pb"
)

// placing is a scheduling request for containers with a tag, of which a node may have none yet, by a constraint of its own or by none.
func placing(id, count int32, tag string, own bool) *pb.SchedulingRequest {
	r, sizing := &pb.SchedulingRequest{}, &pb.ResourceSizing{}
	sizing.SetNumAllocations(count)
	sizing.SetResources(memory(512))
	r.SetResourceSizing(sizing)
	r.SetAllocationRequestId(int64(id))
	r.SetAllocationTags([]string{tag})
	if own {
		r.SetPlacementConstraint(apart(tag))
	}
	return r
}

func apart(tag string) *pb.PlacementConstraint {
	c, target, simple := &pb.PlacementConstraint{}, &pb.PlacementConstraintTarget{}, &pb.SimplePlacementConstraint{}
	target.SetTargetType(pb.PlacementConstraintTarget_ALLOCATION_TAG)
	target.SetTargetKey("self")
	target.SetTargetValues([]string{tag})
	simple.SetScope("node")
	simple.SetMinCardinality(0)
	simple.SetMaxCardinality(0)
	simple.SetTargetExpressions([]*pb.PlacementConstraintTarget{target})
	c.SetSimpleConstraint(simple)
	return c
}

func memory(mb int64) *pb.Resource {
	r := &pb.Resource{}
	r.SetMemory(mb)
	r.SetVirtualCores(1)
	return r
}

func met(by string) func(*Settings) {
	return func(s *Settings) { s.Constraints = constraints.Settings{Handler: by, Tries: 3} }
}

// Tags of containers are on record: the next leader keeps requests away from them as well.
func TestConstraintsSurviveAChangeOfLeaders(t *testing.T) {
	runWorld(t, met(constraints.Scheduler), func(w *world) {
		w.newest()
		w.node(1)
		w.node(2)
		am := w.am(nil)
		r := am.allocate(AllocateCall{Scheduling: []*pb.SchedulingRequest{placing(1, 1, "zk", true)}})
		if len(r.Grants) != 1 || !slices.Equal(r.Grants[0].Tags, []string{"zk"}) {
			t.Fatalf("%+v", r.Grants)
		}
		first := r.Grants[0].Node
		there := map[int][]NodeContainer{}
		for i := 1; i <= 2; i++ {
			state := w.state()
			for c := range state.On(state.Nodes[nodeID(i)]) {
				there[i] = append(there[i], NodeContainer{ID: c.ID, State: pb.ContainerState_C_RUNNING})
			}
		}
		w.depose()
		w.lead()
		for i := 1; i <= 2; i++ {
			w.node(i, there[i]...)
		}
		must[Registration](w.t)(w.Register(am.attempt, "host", 4711, ""))
		am = &peer{w: w, attempt: am.attempt}
		r = am.allocate(AllocateCall{Scheduling: []*pb.SchedulingRequest{placing(2, 2, "zk", true)}})
		if len(r.Grants) != 1 || r.Grants[0].Node == first || !slices.Equal(r.Grants[0].Tags, []string{"zk"}) {
			t.Errorf("%+v, the first is on %v", r.Grants, first)
		}
	})
}

// What an ApplicationMaster registers with holds for its requests with that tag. The placement processor rejects what it can't place after some calls.
func TestWhatCannotBePlacedIsRejected(t *testing.T) {
	runWorld(t, met(constraints.Processor), func(w *world) {
		w.newest()
		w.node(1)
		w.node(2)
		am := w.am(nil)
		entry := &pb.PlacementConstraintMapEntry{}
		entry.SetAllocationTags([]string{"zk"})
		entry.SetPlacementConstraint(apart("zk"))
		if err := w.TakeConstraints(am.attempt, []*pb.PlacementConstraintMapEntry{entry}); err != nil {
			t.Fatal(err)
		}
		r := am.allocate(AllocateCall{Scheduling: []*pb.SchedulingRequest{placing(1, 5, "zk", false), placing(2, 1, "hb", true)}})
		if len(r.Grants) != 3 || len(r.Rejected) != 0 {
			t.Errorf("%d grants, %v", len(r.Grants), r.Rejected)
		}
		for call := 1; call <= 5; call++ {
			r := am.allocate(AllocateCall{})
			switch {
			case call != 3 && len(r.Rejected) > 0 || call == 3 && len(r.Rejected) != 1:
				t.Errorf("call %d: %v", call, r.Rejected)
			case call == 3:
				x := r.Rejected[0]
				if x.GetReason() != pb.RejectionReason_RRP_COULD_NOT_PLACE_ON_NODE || x.GetRequest().GetResourceSizing().GetNumAllocations() != 3 || x.GetRequest().GetAllocationRequestId() != 1 {
					t.Errorf("%v", x)
				}
			}
		}
	})
}

// As in YARN a scheduling request that is larger than the largest container is for that with the scheduler, and rejected by the processor after its tries.
func TestRequestsLargerThanTheLargestContainer(t *testing.T) {
	large := placing(1, 1, "zk", true)
	large.GetResourceSizing().SetResources(memory(1 << 30))
	for by, want := range map[string][2]int{constraints.Processor: {0, 1}, constraints.Scheduler: {1, 0}} {
		runWorld(t, met(by), func(w *world) {
			w.newest()
			w.node(1)
			w.node(2)
			am := w.am(nil)
			got := am.allocate(AllocateCall{Scheduling: []*pb.SchedulingRequest{placing(2, 1, "hb", true), large}})
			if len(got.Grants) != 1+want[0] {
				t.Errorf("%s: %d grants", by, len(got.Grants))
			}
			var rejected int
			for range 5 {
				rejected += len(am.allocate(AllocateCall{}).Rejected)
			}
			if rejected != want[1] {
				t.Errorf("%s: %d requests are rejected", by, rejected)
			}
		})
	}
}

// Requests and registrations that say too much, or have unknown parts, are refused, and change nothing.
func TestWrongConstraintsAreRefused(t *testing.T) {
	runWorld(t, met(constraints.Scheduler), func(w *world) {
		w.newest()
		w.node(1)
		am := w.am(nil)
		deep := apart("x")
		for range 100 {
			and, c := &pb.CompositePlacementConstraint{}, &pb.PlacementConstraint{}
			and.SetCompositeType(pb.CompositePlacementConstraint_AND)
			and.SetChildConstraints([]*pb.PlacementConstraint{deep})
			c.SetCompositeConstraint(and)
			deep = c
		}
		tags, many := placing(1, 1, "a", false), []string{}
		for i := range 100 {
			many = append(many, strings.Repeat("t", i+1))
		}
		tags.SetAllocationTags(many)
		scope, space := apart("x"), apart("x")
		scope.GetSimpleConstraint().SetScope("galaxy")
		space.GetSimpleConstraint().GetTargetExpressions()[0].SetTargetKey("nowhere")
		with := func(c *pb.PlacementConstraint) *pb.SchedulingRequest {
			r := placing(1, 1, "a", false)
			r.SetPlacementConstraint(c)
			return r
		}
		negative, none := placing(1, -1, "a", false), placing(1, 1, "a", false)
		none.SetResourceSizing(nil)
		for want, r := range map[string]*pb.SchedulingRequest{
			"too many parts": with(deep), "100 allocation tags": tags, "galaxy": with(scope), `namespace "nowhere"`: with(space), "less than 0": negative, "No ResourceSizing": none,
		} {
			if _, err := w.Allocate(am.attempt, AllocateCall{ResponseID: am.response, Scheduling: []*pb.SchedulingRequest{placing(7, 1, "fine", true), r}}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v; want %q", err, want)
			}
		}
		if r := am.allocate(AllocateCall{}); len(r.Grants) > 0 {
			t.Errorf("a refused call has granted %v", r.Grants)
		}
		entry := &pb.PlacementConstraintMapEntry{}
		entry.SetAllocationTags([]string{"a"})
		entry.SetPlacementConstraint(deep)
		if err := w.TakeConstraints(am.attempt, []*pb.PlacementConstraintMapEntry{entry}); err == nil {
			t.Error("such a registration is taken")
		}
	})
	runWorld(t, func(*Settings) {}, func(w *world) {
		w.newest()
		w.node(1)
		am := w.am(nil)
		entry := &pb.PlacementConstraintMapEntry{}
		if err := w.TakeConstraints(am.attempt, []*pb.PlacementConstraintMapEntry{entry}); err == nil || !strings.Contains(err.Error(), "Rejecting this registerApplicationMaster operation") {
			t.Error(err)
		}
	})
}
