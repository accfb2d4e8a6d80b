package scheduler

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"heddle/rm/scheduler/constraint"
	"heddle/rm/scheduler/explain"
	"heddle/rm/scheduler/handle"
)

// counted is a constraint on the number of containers with a tag.
func counted(scope constraint.Scope, least, most int32, tag string) *constraint.Constraint {
	return &constraint.Constraint{Op: constraint.Count, Scope: scope, Space: constraint.Self, Tags: []string{tag}, Min: least, Max: most}
}

// placing is an ask for containers of size 1 with a tag.
func placing(priority, count int32, tag string, c *constraint.Constraint) []Ask {
	r := row(priority, Any, count, true)
	r.Scheduling = &SchedulingRequest{Tags: []string{tag}, Constraint: c}
	return []Ask{r}
}

// racks is a cluster of two racks with three nodes of size 8 each, and an application.
func racks(t testing.TB) (*Scheduler, AppHandle) {
	s := New(Config{Tree: capacityTree(t, map[string]string{
		"root.queues": "a", "root.a.capacity": "100", "maximum-am-resource-percent": "1", "root.a.user-limit-factor": "100",
	}), Minimum: res(1, 1)})
	for i := range 6 {
		s.AddNode(NodeSpec{Host: fmt.Sprint("n", i), Rack: fmt.Sprint("/r", i/3), Capability: res(8, 8)})
	}
	a := s.AddApp(AppSpec{Queue: "root.a", User: "u"})
	s.NameApp(a, "application_1_0001", []string{"blue"})
	return s, a
}

// spread counts grants by node, and returns the containers.
func spread(s *Scheduler, now int64) (on map[NodeHandle]int, all []ContainerHandle) {
	on = map[NodeHandle]int{}
	for _, d := range s.Schedule(now) {
		if d.Kind == Allocate {
			on[d.Node]++
			all = append(all, d.Container)
		}
	}
	return on, all
}

func numbers(on map[NodeHandle]int) string { return fmt.Sprint(slices.Sorted(maps.Values(on))) }

// The numbers are those that a stock ResourceManager comes to with the same requests (con-*-anti, con-*-cardinality).
func TestConstraintsSpreadContainers(t *testing.T) {
	const none = math.MaxInt32
	for name, c := range map[string]struct {
		c    *constraint.Constraint
		want string
	}{
		"one on a node":           {counted(constraint.Node, 0, 0, "zk"), "[1 1 1 1 1 1]"},
		"one in a rack":           {counted(constraint.Rack, 0, 0, "zk"), "[1 1]"},
		"up to two on a node":     {counted(constraint.Node, 0, 1, "zk"), "[2 2 2 2 2 2]"},
		"up to three in a rack":   {counted(constraint.Rack, 0, 2, "zk"), "[1 1 1 1 1 1]"},
		"beside one, which never": {counted(constraint.Node, 1, none, "zk"), "[]"},
		"both": {&constraint.Constraint{Op: constraint.And, Of: []*constraint.Constraint{
			counted(constraint.Node, 0, 1, "zk"), counted(constraint.Rack, 0, 2, "zk"),
		}}, "[1 1 1 1 1 1]"},
		"none": {nil, "[2 2 2 2 2 2]"},
	} {
		s, a := racks(t)
		s.UpdateAsks(a, placing(1, 12, "zk", c.c))
		if on, _ := spread(s, 1); numbers(on) != c.want {
			t.Errorf("%s: %s; want %s", name, numbers(on), c.want)
		}
	}
}

// A request that no node satisfies waits, says why, and gets its container once one does: tags that come or go, attributes, or nodes.
func TestRequestsWaitForTheirConstraints(t *testing.T) {
	in := counted(constraint.Node, 1, math.MaxInt32, "zk")
	gpu := &constraint.Constraint{Op: constraint.Attribute, Name: "rm.yarn.io/gpu", Value: "a100"}
	zk := func(s *Scheduler, a AppHandle) { s.UpdateAsks(a, placing(5, 1, "zk", nil)) }
	for name, c := range map[string]struct {
		c      *constraint.Constraint
		before func(*Scheduler, AppHandle)
		change func(s *Scheduler, a AppHandle, held []ContainerHandle)
		reason string
	}{
		"a tag that comes": {in, nil, func(s *Scheduler, a AppHandle, _ []ContainerHandle) { zk(s, a) }, "in,node,zk"},
		"a tag that goes": {
			&constraint.Constraint{Op: constraint.Count, Scope: constraint.Rack, Space: constraint.All, Tags: []string{"x"}},
			func(s *Scheduler, a AppHandle) {
				s.UpdateAsks(a, placing(5, 2, "x", counted(constraint.Rack, 0, 0, "x")))
			},
			func(s *Scheduler, _ AppHandle, held []ContainerHandle) { s.Free(held[0]) }, "notin,rack,all/x",
		},
		"an attribute": {gpu, nil, func(s *Scheduler, _ AppHandle, _ []ContainerHandle) {
			s.SetAttributes("n4", map[string]string{"rm.yarn.io/gpu": "a100"})
		}, "rm.yarn.io/gpu=a100"},
		"a node": {gpu, func(s *Scheduler, _ AppHandle) {
			s.SetAttributes("n9", map[string]string{"rm.yarn.io/gpu": "a100"})
		}, func(s *Scheduler, _ AppHandle, _ []ContainerHandle) {
			s.AddNode(NodeSpec{Host: "n9", Rack: "/r9", Capability: res(1, 1)})
		}, "rm.yarn.io/gpu=a100"},
	} {
		s, a := racks(t)
		if c.before != nil {
			c.before(s, a)
		}
		_, held := spread(s, 1)
		s.UpdateAsks(a, placing(9, 1, "waits", c.c))
		if on, _ := spread(s, 2); len(on) > 0 {
			t.Errorf("%s: placed on %v at once", name, on)
		}
		if r := s.Explain(a); len(r) != 1 || r[0].Limit != explain.Constrained || !strings.Contains(r[0].Text, c.reason) {
			t.Errorf("%s: says %+v", name, r)
		}
		c.change(s, a, held)
		var on map[NodeHandle]int
		for now := int64(3); now < 60 && len(s.Explain(a)) > 0; now++ {
			if wake := s.NextWake(); now == 3 || wake != 0 && wake <= now {
				got, _ := spread(s, now)
				on = got
			}
		}
		if len(on) != 1 || len(s.Explain(a)) != 0 {
			t.Errorf("%s: after it changed: %v, %+v", name, on, s.Explain(a))
		}
		for range 3 {
			s.Schedule(1000)
		}
		if s.NextWake() != 0 {
			t.Errorf("%s: it wakes for nothing", name)
		}
	}
}

// Requests that are entered again as they were aren't tried again: nothing has changed.
func TestTheSameRequestIsNotTriedAgain(t *testing.T) {
	s, a := racks(t)
	full := counted(constraint.Node, 0, 0, "zk")
	s.UpdateAsks(a, placing(1, 7, "zk", full))
	spread(s, 1)
	for now := int64(2); now < 101; now++ { // a look at what has changed by the grants
		s.Schedule(now)
	}
	looked := s.cfg.Placing.Looked
	for now := int64(101); now < 200; now++ {
		s.UpdateAsks(a, placing(1, 1, "zk", counted(constraint.Node, 0, 0, "zk")))
		if on, _ := spread(s, now); len(on) > 0 {
			t.Fatal(on)
		}
	}
	if n := s.cfg.Placing.Looked - looked; n > 0 {
		t.Errorf("%d nodes were looked at", n)
	}
	s.UpdateAsks(a, placing(1, 2, "zk", nil))
	if on, _ := spread(s, 300); numbers(on) != "[1 1]" {
		t.Errorf("without the constraint: %v", on)
	}
}

// Tags of containers that an earlier leader has granted count, and those of applications by their names.
func TestTagsOfOthersCount(t *testing.T) {
	s, a := racks(t)
	b := s.AddApp(AppSpec{Queue: "root.a", User: "v", Seq: 1})
	s.NameApp(b, "application_1_0002", nil)
	c := s.Regrant(a, 2, res(1, 1))
	s.SetTags(c, []string{"zk"})
	for i, space := range []struct {
		constraint.Namespace
		app  string
		want string
	}{{constraint.NotSelf, "", "map[2:1]"}, {constraint.AppID, "application_1_0001", "map[2:1]"}, {constraint.AppTag, "blue", "map[2:1]"}, {constraint.Self, "", "map[]"}} {
		x := counted(constraint.Node, 1, math.MaxInt32, "zk")
		x.Space, x.App = space.Namespace, space.app
		s.UpdateAsks(b, placing(int32(i), 1, "other", x))
		if on, _ := spread(s, int64(i+1)); fmt.Sprint(on) != space.want {
			t.Errorf("%s: on %v; want %s", space.Namespace, on, space.want)
		}
	}
}

// Ten thousand requests that nothing satisfies take about a tenth of the time for decisions of others. BenchmarkDecisionBesideUnmet has the figure.
func TestUnmetRequestsAreLookedAtInTurns(t *testing.T) {
	s, a := racks(t)
	unmet(s, a, 10_000)
	b := s.AddApp(AppSpec{Queue: "root.a", User: "v", Seq: 1})
	s.Schedule(1)
	looked := s.cfg.Placing.Looked
	for now := int64(2); now < 102; now++ {
		s.UpdateAsks(b, []Ask{row(1, Any, 1, true)})
		_, held := spread(s, now)
		for _, c := range held {
			s.Free(c)
		}
	}
	if n := s.cfg.Placing.Looked - looked; n > 250_000 { // which take 10 to 15 ms
		t.Errorf("%d things were looked up in a tenth of a second", n)
	}
	later := s.AddApp(AppSpec{Queue: "root.a", User: "w", Seq: 2})
	s.UpdateAsks(later, placing(1, 1, "late", counted(constraint.Node, 1, math.MaxInt32, "none")))
	s.Schedule(103)
	if x := placing(2, 1, "none", nil); true {
		s.UpdateAsks(later, x)
	}
	s.Schedule(104)
	for now := int64(105); now < 125; now++ { // its turn comes soon, whatever others ask for
		s.Schedule(now)
	}
	if r := s.Explain(later); len(r) != 0 {
		t.Errorf("it still waits: %+v", r)
	}
}

// unmet has an application ask for what no node satisfies, half of it so that each has to be looked at.
func unmet(s *Scheduler, a handle.App, n int) {
	s.UpdateAsks(a, placing(1, 25, "full", counted(constraint.Rack, 0, 0, "full")))
	for i := range n {
		c := counted(constraint.Rack, 0, 0, "full")
		if i%2 == 0 {
			c = counted(constraint.Node, 1, math.MaxInt32, fmt.Sprint("nobody", i))
		}
		s.UpdateAsks(a, placing(int32(i+2), 1, "x", c))
	}
}

// wide is a cluster of many nodes in one rack, with two applications.
func wide(t testing.TB, nodes int) (s *Scheduler, a, b AppHandle) {
	s = New(Config{Tree: capacityTree(t, map[string]string{
		"root.queues": "a", "root.a.capacity": "100", "maximum-am-resource-percent": "1", "root.a.user-limit-factor": "100",
	}), Minimum: res(1, 1)})
	for i := range nodes {
		s.AddNode(NodeSpec{Host: fmt.Sprint("n", i), Rack: "/r", Capability: res(8, 8)})
	}
	return s, s.AddApp(AppSpec{Queue: "root.a", User: "u"}), s.AddApp(AppSpec{Queue: "root.a", User: "v", Seq: 1})
}

// large is a constraint as large as they may be, which no node satisfies while another one has the tag.
func large(t testing.TB) *constraint.Constraint {
	of := []*constraint.Constraint{counted(constraint.Node, 0, 0, "other")}
	for range 30 {
		of = append(of, counted(constraint.Node, 0, 5, "other"))
	}
	of = append(of, counted(constraint.Rack, 0, 0, "x"))
	c := &constraint.Constraint{Op: constraint.And, Of: of[1:]}
	if err := (&constraint.Request{Constraint: c}).Check(); err != nil {
		t.Fatal(err)
	}
	return c
}

// An application that asks for more and more, with constraints as large as they may be, takes a bounded part of the time, and others with constraints get
// their turns.
func TestNewRequestsWithConstraintsAreTriedInTurns(t *testing.T) {
	s, a, b := wide(t, 1000)
	s.UpdateAsks(a, placing(1, 1, "x", nil))
	s.Schedule(1)
	c, n := large(t), int32(2)
	flood := func() {
		var rows []Ask
		for range 100 {
			rows = append(rows, placing(n, 1, "y", c)...)
			n++
		}
		s.UpdateAsks(a, rows)
	}
	looked := s.cfg.Placing.Looked
	for now := int64(2); now < 102; now++ {
		flood()
		s.Schedule(now)
	}
	search := int64(1000) * c.Cost() * 2 // a node for it, and one to reserve
	if n, most := s.cfg.Placing.Looked-looked, 2000*100+20_000+2*search; n > most {
		t.Errorf("%d things were looked up; at most %d are expected", n, most)
	}
	s.UpdateAsks(b, placing(1, 3, "b", counted(constraint.Node, 0, 0, "b")))
	got := 0
	for now := int64(102); now < 1000 && got < 3; now++ {
		flood()
		on, _ := spread(s, now)
		got += len(on)
	}
	if got != 3 {
		t.Errorf("another application got %d containers of 3", got)
	}
}

// What is withdrawn leaves nothing behind, whatever else happens or doesn't.
func TestWithdrawnRequestsAreForgotten(t *testing.T) {
	s, a, _ := wide(t, 10)
	for round := range 20 {
		for i := range int32(100) {
			s.UpdateAsks(a, placing(i, 1, "x", counted(constraint.Node, 1, math.MaxInt32, "nobody")))
		}
		s.Schedule(int64(round)*100 + 1)
		s.ClearAsks(a)
		for now := int64(round)*100 + 2; s.NextWake() != 0; now = s.NextWake() {
			s.Schedule(now)
		}
		if s.core.Unmet.Any() {
			t.Fatalf("round %d: some still wait", round)
		}
	}
}

// Nothing is taken from others for requests that no node would satisfy, and a node is reserved for those that one will.
func TestNothingIsPreemptedForWhatNoNodeSatisfies(t *testing.T) {
	s, a, b := wide(t, 4)
	s.UpdateAsks(b, []Ask{row(1, Any, 32, true)})
	spread(s, 1)
	s.UpdateAsks(a, slices.Concat(
		placing(1, 3, "x", counted(constraint.Node, 1, math.MaxInt32, "nobody")),
		placing(2, 2, "x", &constraint.Constraint{Op: constraint.Never}),
		placing(3, 1, "x", counted(constraint.Node, 0, 0, "x")),
	))
	s.Schedule(2)
	for _, q := range s.Snapshots(known{})[0].Queues {
		if q.Path == "root.a" && q.Asked != res(1, 1) {
			t.Errorf("containers of %v would be preempted", q.Pending)
		}
	}
}

// An application with very many requests with constraints isn't compared with all nodes for each of them where it is explained.
func TestManyConstraintsAreExplainedInTime(t *testing.T) {
	s, a, _ := wide(t, 1000)
	s.UpdateAsks(a, placing(1, 1, "x", nil))
	s.Schedule(1)
	for i := range int32(900) {
		s.UpdateAsks(a, placing(i+2, 1, "y", large(t)))
	}
	s.Schedule(2)
	reasons := s.Explain(a)
	first, last := reasons[0], reasons[len(reasons)-1]
	if len(reasons) != 900 || !strings.Contains(first.Text, "n999 doesn't satisfy notin,rack,x") || !strings.Contains(last.Text, "so many requests with constraints") || len(first.Text) > 1000 {
		t.Errorf("%d reasons, from %s to %s", len(reasons), first.Text, last.Text)
	}
}

// A limit keeps a request from containers only while a node has room for one: else it has no place, as in YARN (scenario con-p-room).
func TestLimitsCountWhereThereIsRoom(t *testing.T) {
	s := New(Config{Tree: capacityTree(t, map[string]string{
		"root.queues": "a,b", "root.a.capacity": "50", "root.a.maximum-capacity": "50", "root.a.user-limit-factor": "100", "root.b.capacity": "50",
		"maximum-am-resource-percent": "1", "root.b.user-limit-factor": "100",
	}), Minimum: res(1, 1)})
	for i := range 2 {
		s.AddNode(NodeSpec{Host: fmt.Sprint("n", i), Rack: "/r", Capability: res(4, 4)})
	}
	a, b := s.AddApp(AppSpec{Queue: "root.a", User: "u"}), s.AddApp(AppSpec{Queue: "root.b", User: "u"})
	s.UpdateAsks(a, placing(1, 6, "t", nil))
	spread(s, 1)
	if row, over, _ := s.Outstanding(a)(1, 0); row.Count != 2 || !over {
		t.Errorf("above its maximum: %d wait, by a limit: %v", row.Count, over)
	}
	s.UpdateAsks(b, placing(1, 4, "t", nil))
	spread(s, 2)
	if row, over, _ := s.Outstanding(a)(1, 0); row.Count != 2 || over {
		t.Errorf("above its maximum on full nodes: %d wait, by a limit: %v", row.Count, over)
	}
}
