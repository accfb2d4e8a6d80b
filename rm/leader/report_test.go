package leader

import (
	"strings"
	"testing"

	"heddle/rm/scheduler/explain"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// All applications of a listing are explained, those that have ended and those that are named twice as well.
func TestExplainManyApplications(t *testing.T) {
	run(t, func(w *world) {
		var ids []records.ApplicationID
		for range 5 {
			ids = append(ids, w.submit(nil))
		}
		if err := w.Kill(ids[2], ""); err != nil {
			t.Fatal(err)
		}
		got, err := w.Explain(append(ids, ids[0])...)
		if err != nil || len(got) != 4 || len(got[ids[1]]) != 1 || len(got[ids[2]]) != 0 || len(got[ids[0]]) != 2 {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// What an application's request comes to is told of each node that could have it, by the nodes' ids.
func TestActivitiesOnNodes(t *testing.T) {
	run(t, func(w *world) {
		w.nodeOf(1, records.NewResource(8192, 8))
		am := w.am(nil)
		w.nodeOf(3, records.NewResource(2048, 8))
		w.nodeOf(2, records.NewResource(8192, 8))
		large := func(count, memory int32) []*pb.ResourceRequest {
			rows := ask(count)
			for _, r := range rows {
				r.GetCapability().SetMemory(int64(memory))
			}
			return rows
		}
		if r := am.allocate(AllocateCall{Asks: large(3, 6144)}); len(r.Grants) != 2 {
			t.Fatalf("granted %+v", r.Grants)
		}
		holds, on, err := w.AppActivities(am.attempt.App, 0)
		if err != nil || len(holds) != 1 || len(on) != 1 || len(on[0]) != 3 {
			t.Fatalf("%+v, %+v, %v", holds, on, err)
		}
		for i, want := range []string{"Node does not have sufficient resource", "Node does not have sufficient resource", "Node's total resource is insufficient"} {
			a := on[0][i]
			if !strings.HasPrefix(a.Diagnostic, want) || !strings.Contains(a.Diagnostic, "[memory-mb]\nrequired=<memory:6144, vCores:1>") {
				t.Errorf("node %d: %q", i, a.Diagnostic)
			}
			if i > 0 && a.Node.Compare(on[0][i-1].Node) <= 0 {
				t.Errorf("%v comes after %v", a.Node, on[0][i-1].Node)
			}
			if reserved := holds[0].Limit == explain.HasReservation && holds[0].At == a.Node; reserved != (a.State == explain.ActivityReReserved) {
				t.Errorf("%v is %s, and %v is reserved", a.Node, a.State, holds[0].At)
			}
		}
		if _, first, _ := w.AppActivities(am.attempt.App, 1); len(first) != 1 || len(first[0]) != 1 || first[0][0].Node != on[0][0].Node {
			t.Errorf("of one node: %+v", first)
		}
		if holds, on, err := w.AppActivities(records.ApplicationID{}, 0); len(holds) != 0 || len(on) != 0 || err != nil {
			t.Errorf("of nothing: %v, %v, %v", holds, on, err)
		}
	})
}
