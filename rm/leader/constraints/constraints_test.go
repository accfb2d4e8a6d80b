package constraints

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/constraint"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

func target(kind pb.PlacementConstraintTarget_TargetType, key string, values ...string) *pb.PlacementConstraintTarget {
	t := &pb.PlacementConstraintTarget{}
	t.SetTargetType(kind)
	t.SetTargetKey(key)
	t.SetTargetValues(values)
	return t
}

func simple(least int32, targets ...*pb.PlacementConstraintTarget) *pb.PlacementConstraint {
	c, out := &pb.SimplePlacementConstraint{}, &pb.PlacementConstraint{}
	c.SetScope("NODE")
	c.SetMinCardinality(least)
	c.SetTargetExpressions(targets)
	out.SetSimpleConstraint(c)
	return out
}

func composite(kind pb.CompositePlacementConstraint_CompositeType, of ...*pb.PlacementConstraint) *pb.PlacementConstraint {
	c, out := &pb.CompositePlacementConstraint{}, &pb.PlacementConstraint{}
	c.SetCompositeType(kind)
	c.SetChildConstraints(of)
	out.SetCompositeConstraint(c)
	return out
}

const (
	tagged    = pb.PlacementConstraintTarget_ALLOCATION_TAG
	attribute = pb.PlacementConstraintTarget_NODE_ATTRIBUTE
	and       = pb.CompositePlacementConstraint_AND
	or        = pb.CompositePlacementConstraint_OR
	delayed   = pb.CompositePlacementConstraint_DELAYED_OR
)

func TestWhatConstraintsAreReadAs(t *testing.T) {
	other := simple(0, target(attribute, "nm.yarn.io/os", "linux"))
	other.GetSimpleConstraint().SetAttributeOpCode(pb.NodeAttributeOpCode_NE)
	apart := simple(0, target(tagged, "self", "zk"))
	apart.GetSimpleConstraint().SetMaxCardinality(0)
	for want, c := range map[string]*pb.PlacementConstraint{
		"":                              nil,
		" label x":                      simple(0, target(attribute, partition, "x")),
		" label ":                       simple(0, target(attribute, partition)),
		"in,node,zk":                    simple(1, target(tagged, "self", "zk")),
		"notin,node,zk":                 apart,
		"in,node,all/a,b":               simple(1, target(tagged, "all", "a", "b")),
		"in,node,app-tag/blue/a":        simple(1, target(tagged, "app-tag/blue", "a")),
		"rm.yarn.io/gpu=a100":           simple(0, target(attribute, "gpu", "a100")),
		"nm.yarn.io/os!=linux":          other,
		"and(in,node,a:rm.yarn.io/g=1)": simple(1, target(tagged, "", "a"), target(attribute, "g", "1")),
		"and(in,node,a) label x":        composite(and, simple(1, target(tagged, "", "a")), simple(0, target(attribute, partition, "x"))),
		"or(in,node,a:and(in,node,b))":  composite(or, simple(1, target(tagged, "", "a")), composite(and, simple(1, target(tagged, "", "b")))),
		"Unsupported type of constraint: DelayedOr": composite(delayed, simple(1, target(tagged, "", "a"))),
	} {
		read, label, err := compile(c)
		got := ""
		if read != nil {
			got = read.String()
		}
		if label != nil {
			got += " label " + *label
		}
		if err != nil || got != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	for want, c := range map[string]*pb.PlacementConstraint{
		"names no application": simple(1, target(tagged, "app-id", "a")),
		"namespace \"mine\"":   simple(1, target(tagged, "mine", "a")),
		"target of type SELF":  simple(1, target(pb.PlacementConstraintTarget_SELF, "", "a")),
	} {
		if _, _, err := compile(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// A request is rejected once it was tried in so many calls in vain, and not before it was tried at all.
func TestWhenRequestsAreRejected(t *testing.T) {
	s := Settings{Handler: Processor, Tries: 2}
	var w Wishes
	m := &pb.SchedulingRequest{}
	sizing := &pb.ResourceSizing{}
	sizing.SetNumAllocations(5)
	m.SetResourceSizing(sizing)
	m.SetAllocationRequestId(7)
	asks := []scheduler.Ask{{Name: scheduler.Any, AllocationRequestID: 7, Count: 5}}
	if err := w.Place(s, records.AttemptID{}, []*pb.SchedulingRequest{m}, asks, nil, nil); err != nil {
		t.Fatal(err)
	}
	for i, call := range []struct {
		left        int32
		over, tried bool
		want        string
	}{
		{5, false, true, ""},  // the call that it comes with
		{5, false, false, ""}, // it wasn't its turn
		{4, false, true, ""},
		{3, true, true, "3 RRP_COULD_NOT_SCHEDULE_ON_NODE"},
		{3, true, true, ""},
	} {
		rejected, withdrawn := w.Rejected(s, func(_ int32, id int64) (scheduler.Ask, bool, bool) {
			return scheduler.Ask{Name: scheduler.Any, AllocationRequestID: id, Count: call.left}, call.over, call.tried
		})
		got := ""
		for i, r := range rejected {
			got = fmt.Sprint(r.GetRequest().GetResourceSizing().GetNumAllocations(), " ", r.GetReason())
			if withdrawn[i].Count != 0 || withdrawn[i].AllocationRequestID != 7 {
				t.Errorf("%+v withdraws it", withdrawn[i])
			}
		}
		if got != call.want {
			t.Errorf("call %d: %q; want %q", i, got, call.want)
		}
	}
	if len(w.tried) > 0 || sizing.GetNumAllocations() != 5 {
		t.Errorf("%d are left; the request asks for %d", len(w.tried), sizing.GetNumAllocations())
	}
	if err := w.Place(s, records.AttemptID{}, []*pb.SchedulingRequest{m}, asks, nil, nil); err != nil {
		t.Fatal(err)
	}
	if w.Clear(); len(w.tried) > 0 {
		t.Error("another attempt inherits them")
	}
}

// As in YARN, a request of the processor that names no label is tried on nodes of each label that its queue may use before it is rejected, and one that names a label
// on no others.
func TestTheProcessorTriesThePartitionsInTurn(t *testing.T) {
	labels := []string{"x", "y"}
	for _, c := range []struct {
		names *string
		tries int
		want  string // its label after each call, and that it is rejected
	}{
		{nil, 2, "|x|y|rejected"}, {nil, 5, "|x|y||rejected"}, {nil, 1, "|x|y|rejected"}, {new("y"), 2, "y|rejected"}, {new(""), 2, "|rejected"}, {new("z"), 1, "never|rejected"},
	} {
		s := Settings{Handler: Processor, Tries: c.tries}
		var w Wishes
		m := &pb.SchedulingRequest{}
		m.SetResourceSizing(&pb.ResourceSizing{})
		if c.names != nil {
			m.SetPlacementConstraint(simple(0, target(attribute, partition, *c.names)))
		}
		asks := []scheduler.Ask{{Name: scheduler.Any, Count: 1}}
		if err := w.Place(s, records.AttemptID{}, []*pb.SchedulingRequest{m}, asks, nil, labels); err != nil {
			t.Fatal(err)
		}
		got := asks[0].Label
		if c := asks[0].Scheduling.Constraint; c != nil && c.Op == constraint.Never {
			got = "never"
		}
		if !asks[0].Stays {
			t.Error("nodes are lent to it")
		}
		now := asks[0]
		for range 10 {
			rejected, changed := w.Rejected(s, func(int32, int64) (scheduler.Ask, bool, bool) { return now, false, true })
			for _, now = range changed {
				if now.Count > 0 {
					got += "|" + now.Label
				}
			}
			if len(rejected) > 0 {
				got += "|rejected"
			}
		}
		if got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// A request has its own constraint and the registered one of its tag, but not the same one twice: distributed shell says it at both places.
func TestRegisteredConstraintsOfATag(t *testing.T) {
	on := func(os string) *pb.PlacementConstraint { return simple(0, target(attribute, "os", os)) }
	var w Wishes
	s := Settings{Handler: Scheduler, Tries: 1}
	entry := &pb.PlacementConstraintMapEntry{}
	entry.SetAllocationTags([]string{"zk"})
	entry.SetPlacementConstraint(on("linux"))
	if err := w.Register(s, records.AttemptID{}, []*pb.PlacementConstraintMapEntry{entry}); err != nil {
		t.Fatal(err)
	}
	for want, own := range map[string]*pb.PlacementConstraint{"rm.yarn.io/os=linux": on("linux"), "and(rm.yarn.io/os=x:rm.yarn.io/os=linux)": on("x")} {
		m := &pb.SchedulingRequest{}
		m.SetAllocationTags([]string{"zk"})
		m.SetPlacementConstraint(own)
		m.SetResourceSizing(&pb.ResourceSizing{})
		asks := make([]scheduler.Ask, 1)
		if err := w.Place(s, records.AttemptID{}, []*pb.SchedulingRequest{m}, asks, nil, nil); err != nil {
			t.Fatal(err)
		}
		if got := asks[0].Scheduling.Constraint.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Whatever an ApplicationMaster sends, it is refused or has bounds.
func FuzzConstraints(f *testing.F) {
	for _, c := range []*pb.PlacementConstraint{
		simple(1, target(tagged, "app-tag/blue", "a", "b"), target(attribute, "g", "1")), composite(or, simple(0, target(attribute, partition, "x"))), composite(delayed),
	} {
		r := &pb.SchedulingRequest{}
		r.SetAllocationTags([]string{"a", "a", ""})
		r.SetPlacementConstraint(c)
		r.SetResourceSizing(&pb.ResourceSizing{})
		data, err := proto.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var m pb.SchedulingRequest
		if proto.Unmarshal(data, &m) != nil {
			return
		}
		all := []*pb.SchedulingRequest{&m}
		s := Settings{Handler: Scheduler, Tries: 1}
		rows, err := s.Rows(records.AttemptID{}, queue.Capacity, all)
		if err == nil && (len(rows) != 1 || rows[0].GetResourceName() != scheduler.Any) {
			t.Errorf("%v", rows)
		}
		var w Wishes
		entry := &pb.PlacementConstraintMapEntry{}
		entry.SetAllocationTags(m.GetAllocationTags())
		entry.SetPlacementConstraint(m.GetPlacementConstraint())
		registered := w.Register(s, records.AttemptID{}, []*pb.PlacementConstraintMapEntry{entry})
		asks := make([]scheduler.Ask, 1)
		if err := errors.Join(registered, w.Place(s, records.AttemptID{}, all, asks, nil, nil)); err != nil {
			return
		}
		r := asks[0].Scheduling
		if err := r.Check(); err != nil || r.Constraint.Cost() > 2*constraint.MaxParts {
			t.Errorf("%v, cost %d", err, r.Constraint.Cost())
		}
	})
}

// What requests of many ids say is remembered within bounds: those from before are forgotten.
func TestWhatRequestsSayIsBounded(t *testing.T) {
	s := Settings{Handler: Scheduler}
	var w Wishes
	place := func(id int64, tag string) error {
		m := &pb.SchedulingRequest{}
		m.SetAllocationTags([]string{tag})
		none := func(int32, int64) (scheduler.Ask, bool, bool) { return scheduler.Ask{}, false, false }
		return w.Place(s, records.AttemptID{}, []*pb.SchedulingRequest{m}, []scheduler.Ask{{Name: scheduler.Any, AllocationRequestID: id, Count: 1}}, none, nil)
	}
	for id := range int64(3 * maxRemembered) {
		if err := place(id, "a"); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.earlier) > maxRemembered {
		t.Errorf("%d are remembered", len(w.earlier))
	}
	if place(3*maxRemembered-1, "b") == nil || place(0, "b") != nil {
		t.Error("the wrong ones are remembered")
	}
}
