package scheduler

import (
	"strings"
	"testing"

	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/explain"
	"heddle/rm/scheduler/handle"

	"github.com/google/go-cmp/cmp"
)

// An application whose turn it is wants more than any node has free: a node is reserved for it, and not eaten up by smaller
// containers.
func TestReservations(t *testing.T) {
	kinds := func(list []Decision) (out []string) {
		for _, d := range list {
			out = append(out, map[core.DecisionKind]string{Allocate: "allocate", Reserve: "reserve", Unreserve: "unreserve"}[d.Kind])
		}
		return out
	}
	setup := func() (s *Scheduler, large, small handle.App, held []Decision) {
		s = New(Config{Tree: capacityTree(t, map[string]string{
			"root.queues": "a", "root.a.capacity": "100", "maximum-am-resource-percent": "1", "root.a.user-limit-factor": "10",
		}), Minimum: res(1, 1)})
		s.AddNode(NodeSpec{Host: "n0", Rack: "/r", Capability: res(4, 4)})
		s.AddNode(NodeSpec{Host: "n1", Rack: "/r", Capability: res(4, 4)})
		small = s.AddApp(AppSpec{Queue: "root.a", User: "u", Seq: 2, AM: res(1, 1)})
		s.UpdateAsks(small, []Ask{row(1, Any, 6, true)})
		held = grants(s)
		large = s.AddApp(AppSpec{Queue: "root.a", User: "u", Seq: 1, AM: res(1, 1)})
		s.Schedule(0)
		return s, large, small, append([]Decision(nil), held...)
	}
	ask := func(count int32) []Ask {
		return []Ask{{Priority: 1, Name: Any, Count: count, RelaxLocality: true, Capability: res(2, 1)}}
	}
	onNode := func(held []Decision, n handle.Node) (out []handle.Container) {
		for _, d := range held {
			if d.Node == n {
				out = append(out, d.Container)
			}
		}
		return out
	}

	t.Run("filled", func(t *testing.T) {
		s, large, small, held := setup()
		s.UpdateAsks(large, ask(1))
		got := s.Schedule(0)
		if diff := cmp.Diff([]string{"reserve"}, kinds(got)); diff != "" {
			t.Fatal(diff)
		}
		n := got[0].Node
		s.UpdateAsks(small, []Ask{row(1, Any, 2, true)})
		if s.core.Queues[core.Root].Used != res(8, 7) || s.core.Queues[core.Root].Reserved != res(2, 1) {
			t.Errorf("the root holds %v, reserved %v", s.core.Queues[core.Root].Used, s.core.Queues[core.Root].Reserved)
		}
		if r := s.Explain(large); len(r) != 1 || r[0].Limit != explain.HasReservation || r[0].Node != n || r[0].Short != res(1, 0) {
			t.Errorf("says %+v", r)
		}
		s.Schedule(0)
		s.Free(onNode(held, n)[0])
		got = s.Schedule(0)
		if diff := cmp.Diff([]string{"unreserve", "allocate"}, kinds(got)[:2]); diff != "" || got[1].App != large || got[1].Node != n {
			t.Errorf("%v: %s", got, diff)
		}
		if !s.core.Queues[core.Root].Reserved.IsZero() || len(s.core.Reserved) != 0 {
			t.Errorf("still reserved: %v", s.core.Queues[core.Root].Reserved)
		}
	})
	t.Run("room elsewhere", func(t *testing.T) {
		s, large, _, held := setup()
		s.UpdateAsks(large, ask(1))
		n := s.Schedule(0)[0].Node
		s.Free(onNode(held, 1-n)[0])
		got := s.Schedule(0)
		if diff := cmp.Diff([]string{"unreserve", "allocate"}, kinds(got)); diff != "" || got[1].Node != 1-n {
			t.Errorf("%v: %s", got, diff)
		}
	})
	t.Run("withdrawn", func(t *testing.T) {
		s, large, small, _ := setup()
		s.UpdateAsks(large, ask(1))
		s.Schedule(0)
		s.UpdateAsks(small, []Ask{row(1, Any, 2, true)})
		s.UpdateAsks(large, ask(0))
		if diff := cmp.Diff([]string{"unreserve", "allocate", "allocate"}, kinds(s.Schedule(0))); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("node leaves", func(t *testing.T) {
		s, large, _, held := setup()
		s.UpdateAsks(large, ask(1))
		n := s.Schedule(0)[0].Node
		for _, c := range onNode(held, n) {
			s.Free(c)
		}
		s.At(n).RemoveNode(n)
		// what is left has no room below the root's maximum, which a reservation counts for
		if diff := cmp.Diff([]string{"unreserve"}, kinds(s.Schedule(0))); diff != "" {
			t.Error(diff)
		}
	})
}

// What is said of an application with a reservation ends with where the leaf's policy sees it.
func TestReservationsAreExplainedByThePolicyToo(t *testing.T) {
	for policy, standing := range map[string]string{
		"eunomia": "; the application has 0.00 of the progress that it could make alone",
		"hopper":  "virtual size ", "fifo": "",
	} {
		s := New(Config{Tree: capacityTree(t, map[string]string{
			"root.queues": "a", "root.a.capacity": "100", "maximum-am-resource-percent": "1", "root.a.user-limit-factor": "10", "root.a.ordering-policy": policy,
		}), Minimum: res(1, 1)})
		s.AddNode(NodeSpec{Host: "n0", Rack: "/r", Capability: res(4, 4)})
		s.AddNode(NodeSpec{Host: "n1", Rack: "/r", Capability: res(4, 4)})
		small := s.AddApp(AppSpec{Queue: "root.a", User: "u", Seq: 2, AM: res(1, 1)})
		s.UpdateAsks(small, []Ask{row(1, Any, 6, true)})
		grants(s)
		large := s.AddApp(AppSpec{Queue: "root.a", User: "u", Seq: 1, AM: res(1, 1)})
		s.UpdateAsks(large, []Ask{{Priority: 1, Name: Any, Count: 1, RelaxLocality: true, Capability: res(2, 1)}})
		s.Schedule(0)
		r := s.Explain(large)
		if len(r) != 1 || r[0].Limit != explain.HasReservation {
			t.Fatalf("%s: says %+v", policy, r)
		}
		if first, of, _ := strings.Cut(r[0].Text, " yet"); !strings.Contains(first, "is reserved for it") || !strings.Contains(of, standing) || (of == "") != (standing == "") {
			t.Errorf("%s: says %q, and should have %q", policy, r[0].Text, standing)
		}
	}
}
