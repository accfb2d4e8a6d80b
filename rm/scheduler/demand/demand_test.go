package demand

import (
	"testing"

	"heddle/rm/scheduler/class"
	"heddle/rm/scheduler/nodeset"
	"heddle/yarn/pb"
)

// Names of hosts and racks.
const (
	host = int32(iota + 1)
	rack
	elsewhere
)

func node(host, rack int32) *nodeset.Node { return &nodeset.Node{Host: host, Rack: rack} }

func TestRowsForPlaces(t *testing.T) {
	d := &Demand{Pending: 5}
	if d.Prefers(host) || d.Wants(host) != 0 || d.Relaxes(rack) {
		t.Error("prefers places without rows")
	}
	if !d.Prefer(host, 3, true) || d.Prefer(host, 2, false) || !d.Prefer(rack, 2, true) {
		t.Error("tells wrongly which rows are new")
	}
	if !d.Choosy || !d.Prefers(host) || d.Wants(host) != 2 || d.Relaxes(host) || !d.Relaxes(rack) || len(d.Places) != 2 {
		t.Errorf("%+v", d)
	}
	d.Prefer(rack, 0, true)
	if d.Relaxes(rack) || !d.Prefers(rack) {
		t.Error("a rack of which nothing is asked for any more")
	}
}

func TestHowNearNodesAre(t *testing.T) {
	d := &Demand{Pending: 5}
	d.Prefer(host, 1, true)
	d.Prefer(rack, 1, true)
	for _, test := range []struct {
		n    *nodeset.Node
		want Locality
	}{{node(host, rack), NodeLocal}, {node(host, elsewhere), NodeLocal}, {node(elsewhere, rack), RackLocal}, {node(elsewhere, elsewhere), OffSwitch}} {
		if got := d.LocalityOn(test.n); got != test.want {
			t.Errorf("host %d in rack %d: %d, not %d", test.n.Host, test.n.Rack, got, test.want)
		}
	}
}

// A container is taken off the rows that it serves: all that are at least as wide as the level at which it was placed.
func TestServedRows(t *testing.T) {
	for level, want := range map[Locality][3]int32{NodeLocal: {4, 0, 1}, RackLocal: {4, 1, 1}, OffSwitch: {4, 1, 2}} {
		d := &Demand{Pending: 5}
		d.Prefer(host, 1, true)
		d.Prefer(rack, 2, true)
		d.Served(node(host, rack), level)
		if got := [3]int32{d.Pending, d.Wants(host), d.Wants(rack)}; got != want {
			t.Errorf("at level %d: %v, not %v", level, got, want)
		}
	}
	d := &Demand{Pending: 2}
	d.Prefer(host, 1, true)
	for range 2 {
		d.Served(node(host, rack), NodeLocal) // a row isn't served more often than it asks for
	}
	if !d.Idle() || d.Wants(host) != 0 {
		t.Errorf("%+v", d)
	}
}

func TestIdleDemands(t *testing.T) {
	d := &Demand{Pending: 1}
	if d.Idle() {
		t.Error("idle while containers are pending")
	}
	d.Pending = 0
	d.Prefer(host, 1, true)
	if d.Idle() {
		t.Error("idle while a place is asked for")
	}
	d.Prefer(host, 0, true)
	if !d.Idle() {
		t.Error("not idle without rows")
	}
}

// A demand holds one class at a time, that of its capability.
func TestClassesOfDemands(t *testing.T) {
	classes := class.New()
	d, same := &Demand{}, &Demand{}
	d.Resize(gb(1), gb(1), &classes)
	same.Resize(gb(1), gb(1), &classes)
	if d.Class != same.Class {
		t.Error("equal sizes have two classes")
	}
	d.Resize(gb(2), gb(2), &classes)
	d.Resize(gb(2), gb(9), &classes) // the same capability again
	if d.Class == same.Class || d.Capability != gb(2) || d.Size != gb(2) {
		t.Errorf("%+v", d)
	}
	fresh := class.New()
	d.Remeasure(gb(3), &fresh)
	if d.Size != gb(3) || d.Capability != gb(2) || *fresh.Size(int(d.Class)) != gb(3) {
		t.Errorf("measured anew: %+v", d)
	}
	untouched := &Demand{}
	if untouched.Remeasure(gb(3), &fresh); untouched.Size == gb(3) {
		t.Error("a demand without a capability is measured")
	}
	d.declass(&fresh)
	if fresh.Taken() != 0 {
		t.Errorf("classes %b are held", fresh.Taken())
	}
}

func TestRowForAnyNode(t *testing.T) {
	d := &Demand{
		Priority: 3, RequestID: 7, Pending: 2, RelaxAny: true, Capability: gb(1), Execution: pb.ExecutionType_OPPORTUNISTIC, Work: nodeset.WorkOf(2),
	}
	want := Ask{
		Priority: 3, AllocationRequestID: 7, Name: Any, Capability: gb(1), Count: 2, RelaxLocality: true, ExecutionType: pb.ExecutionType_OPPORTUNISTIC, Work: 2,
	}
	if got := d.Row(); got != want {
		t.Errorf("%+v, not %+v", got, want)
	}
}

func TestUrgency(t *testing.T) {
	d := &Demand{Priority: 2, RequestID: 5}
	for _, test := range []struct {
		priority int32
		id       int64
		want     int
	}{{2, 5, 0}, {3, 1, -1}, {1, 9, 1}, {2, 6, -1}, {2, 4, 1}} {
		if got := d.Compare(test.priority, test.id); got != test.want {
			t.Errorf("to priority %d, id %d: %d, not %d", test.priority, test.id, got, test.want)
		}
	}
}
