package scheduler

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeset"
	"heddle/yarn/records"
)

func res(gb, cores int64) records.Resource { return records.NewResource(gb*1024, cores) }

func row(priority int32, name string, count int32, relax bool) Ask {
	return Ask{Priority: priority, Name: name, Count: count, RelaxLocality: relax, Capability: res(1, 1)}
}

// nodes n0, n1 … alternate between racks /r0 and /r1.
func cluster(n int, capability records.Resource) (*Scheduler, []handle.Node) {
	s := New(Config{})
	handles := make([]handle.Node, n)
	for i := range handles {
		handles[i] = s.AddNode(NodeSpec{
			Host: fmt.Sprintf("n%d", i), Rack: fmt.Sprintf("/r%d", i%2), Capability: capability,
		})
	}
	grants(s)
	return s, handles
}

// grants are the containers that are granted now.
func grants(s *Scheduler) []Decision {
	return slices.DeleteFunc(s.Schedule(0), func(d Decision) bool { return d.Kind != Allocate })
}

type placed struct {
	App      handle.App
	Node     handle.Node
	Locality Locality
}

func places(list []Decision) []placed {
	var out []placed
	for _, a := range list {
		out = append(out, placed{a.App, a.Node, a.Locality})
	}
	return out
}

func TestLocality(t *testing.T) {
	for name, c := range map[string]struct {
		asks  []Ask
		black []string
		want  []placed
	}{
		"anywhere spreads":   {asks: []Ask{row(1, Any, 3, true)}, want: []placed{{0, 0, OffSwitch}, {0, 1, OffSwitch}, {0, 2, OffSwitch}}},
		"preferred host":     {asks: []Ask{row(1, Any, 1, true), row(1, "/r0", 1, true), row(1, "n2", 1, true)}, want: []placed{{0, 2, NodeLocal}}},
		"host is full: rack": {asks: []Ask{row(1, Any, 3, true), row(1, "/r0", 3, true), row(1, "n2", 3, true)}, want: []placed{{0, 2, NodeLocal}, {0, 2, NodeLocal}, {0, 0, RackLocal}}},
		"strict host waits":  {asks: []Ask{row(1, Any, 3, false), row(1, "/r0", 3, false), row(1, "n2", 3, true)}, want: []placed{{0, 2, NodeLocal}, {0, 2, NodeLocal}}},
		"strict rack": {asks: []Ask{row(1, Any, 5, false), row(1, "/r0", 5, true)}, want: []placed{
			{0, 0, RackLocal}, {0, 2, RackLocal}, {0, 0, RackLocal}, {0, 2, RackLocal},
		}},
		"unknown host":       {asks: []Ask{row(1, Any, 1, true), row(1, "elsewhere", 1, true)}, want: []placed{{0, 0, OffSwitch}}},
		"no row for any":     {asks: []Ask{row(1, "n1", 1, true)}},
		"blacklisted host":   {asks: []Ask{row(1, Any, 2, true), row(1, "n0", 2, true)}, black: []string{"n0"}, want: []placed{{0, 1, OffSwitch}, {0, 2, OffSwitch}}},
		"blacklisted rack":   {asks: []Ask{row(1, Any, 3, true)}, black: []string{"/r0"}, want: []placed{{0, 1, OffSwitch}, {0, 3, OffSwitch}, {0, 1, OffSwitch}}},
		"all blacklisted":    {asks: []Ask{row(1, Any, 3, true)}, black: []string{"/r0", "/r1"}},
		"priorities in turn": {asks: []Ask{row(2, Any, 1, true), row(2, "n3", 1, true), row(1, Any, 1, true), row(1, "n1", 1, true)}, want: []placed{{0, 1, NodeLocal}, {0, 3, NodeLocal}}},
		"too large":          {asks: []Ask{{Name: Any, Count: 1, RelaxLocality: true, Capability: res(1, 3)}}},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := cluster(4, res(2, 2))
			a := s.AddApp(AppSpec{})
			s.UpdateBlacklist(a, c.black, nil)
			s.UpdateAsks(a, c.asks)
			if diff := cmp.Diff(c.want, places(grants(s))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRowsAreAbsoluteAndServedOnce(t *testing.T) {
	s, nodes := cluster(1, res(4, 4))
	a := s.AddApp(AppSpec{})
	s.UpdateAsks(a, []Ask{row(1, Any, 2, true)})
	s.UpdateAsks(a, []Ask{row(1, Any, 3, true)})
	first := slices.Clone(grants(s))
	if len(first) != 3 {
		t.Fatalf("%d containers, want 3", len(first))
	}
	s.UpdateAsks(a, []Ask{row(1, Any, 2, true), row(1, "n0", 2, true)})
	if got := grants(s); len(got) != 1 || s.Pending(a) != 1 {
		t.Fatalf("%d containers, %d pending, want 1 and 1", len(got), s.Pending(a))
	}
	want := []Ask{row(1, Any, 1, true), row(1, "n0", 1, true)}
	if diff := cmp.Diff(want, s.Asks(a)); diff != "" {
		t.Error(diff)
	}
	s.UpdateAsks(a, []Ask{row(1, Any, 0, true), row(1, "n0", 0, true)})
	s.Free(first[0].Container)
	if got := grants(s); len(got) != 0 || s.Pending(a) != 0 || s.core.Apps[a].Requests != 0 {
		t.Errorf("withdrawn, and yet %v, %d pending", got, s.Pending(a))
	}
	if used := s.core.Nodes.At[nodes[0]].Used; used != res(3, 3) {
		t.Errorf("the node holds %v", used)
	}
}

func TestFreedRoomGoesByOrderOfApplications(t *testing.T) {
	s, _ := cluster(1, res(3, 3))
	late := s.AddApp(AppSpec{Seq: 2})
	early := s.AddApp(AppSpec{Seq: 1})
	urgent := s.AddApp(AppSpec{Seq: 3, Priority: 1})
	full := s.AddApp(AppSpec{Seq: 0})
	s.UpdateAsks(full, []Ask{row(1, Any, 3, true)})
	held := slices.Clone(grants(s))
	for _, a := range []handle.App{late, early, urgent} {
		s.UpdateAsks(a, []Ask{row(1, Any, 1, true)})
	}
	if got := grants(s); len(got) != 0 {
		t.Fatalf("placed on a full node: %v", got)
	}
	s.SetPriority(late, 2)
	for i, want := range []handle.App{late, urgent, early} {
		s.Free(held[i].Container)
		if got := grants(s); len(got) != 1 || got[0].App != want {
			t.Errorf("room %d went to %v, want %d", i, places(got), want)
		}
	}
}

func TestNodesComeAndGo(t *testing.T) {
	s := New(Config{})
	a := s.AddApp(AppSpec{})
	s.UpdateAsks(a, []Ask{row(1, Any, 3, true)})
	if got := grants(s); len(got) != 0 {
		t.Fatal("placed without nodes")
	}
	n := s.AddNode(NodeSpec{Host: "a", Rack: "/r", Capability: res(1, 1)})
	got := slices.Clone(grants(s))
	if len(got) != 1 {
		t.Fatalf("a new node was not used: %v", got)
	}
	s.At(n).SetOpen(n, NoWork)
	s.At(n).SetCapability(n, res(9, 9))
	if more := grants(s); len(more) != 0 {
		t.Fatalf("a closed node got %v", more)
	}
	s.At(n).SetOpen(n, AllWork)
	if more := grants(s); len(more) != 2 {
		t.Fatalf("after opening: %v", more)
	}
	if s.OpenNodes() != 1 || s.Largest() != res(9, 9) || s.Headroom() != res(6, 6) {
		t.Errorf("%d nodes, largest %v, headroom %v", s.OpenNodes(), s.Largest(), s.Headroom())
	}
	s.At(n).SetCapability(n, res(1, 1))
	s.Free(got[0].Container)
	s.UpdateAsks(a, []Ask{row(1, Any, 1, true)})
	if more := grants(s); len(more) != 0 {
		t.Errorf("a shrunken node was overfilled: %v", more)
	}
}

// model drives a scheduler with random events and checks after each what must always hold.
type model struct {
	s     *Scheduler
	nodes []handle.Node
	apps  []handle.App
	held  []Decision
	seq   int64
}

func (m *model) check(t *rapid.T) {
	s := m.s
	used := map[handle.Node]records.Resource{}
	for _, c := range m.held {
		used[c.Node] = used[c.Node].Add(c.Resource)
	}
	var headroom, largest records.Resource
	open := 0
	for _, h := range m.nodes {
		n := &s.core.Nodes.At[h]
		if n.Open != NoWork {
			open++
			headroom = headroom.Add(s.core.Nodes.Capability(n).Sub(n.Used).Max(records.Resource{}))
			largest = largest.Max(*s.core.Nodes.Capability(n))
		}
		if n.Used != used[h] {
			t.Fatalf("node %d holds %v, its containers %v", h, n.Used, used[h])
		}
		free := res(-1, -1)
		free[records.Memory] = -1
		if n.Open != NoWork {
			free = s.core.Nodes.Capability(n).Sub(n.Used)
		}
		if s.core.Nodes.Index.At(int(h)) != free || s.core.Nodes.IndexOf(s.core.Nodes.Sites[n.Rack].Rack).At(int(n.InRack)) != free {
			t.Fatalf("the indices lag for node %d", h)
		}
	}
	if open != s.OpenNodes() || headroom != s.Headroom() || largest != s.Largest() {
		t.Fatalf("%d nodes, headroom %v, largest %v; the sums say %d, %v, %v",
			open, headroom, largest, s.OpenNodes(), s.Headroom(), s.Largest())
	}
	for _, h := range m.apps {
		a := &s.core.Apps[h]
		var pending int64
		for d := range s.core.Demands(a) {
			if pending += int64(d.Pending); d.Pending == 0 {
				continue
			}
			for _, nh := range m.nodes {
				n := &s.core.Nodes.At[nh]
				if _, ok := admits(d, n); ok && !a.Bars(d, n) && d.Capability.FitsIn(s.core.Nodes.Capability(n).Sub(n.Used)) {
					t.Fatalf("application %d waits although node %d has room for %v", h, nh, d.Capability)
				}
			}
		}
		if pending != a.Pending {
			t.Fatalf("application %d waits for %d, its sum says %d", h, pending, a.Pending)
		}
	}
}

func (m *model) step(t *rapid.T) {
	s := m.s
	host := func() string { return fmt.Sprintf("n%d", rapid.IntRange(0, 5).Draw(t, "host")) }
	size := func() records.Resource {
		return res(rapid.Int64Range(0, 4).Draw(t, "gb"), rapid.Int64Range(0, 4).Draw(t, "cores"))
	}
	switch rapid.IntRange(0, 9).Draw(t, "event") {
	case 0:
		h := host()
		m.nodes = append(m.nodes, s.AddNode(NodeSpec{Host: h, Rack: "/r" + h[1:], Capability: size().Times(2)}))
	case 1:
		m.seq++
		m.apps = append(m.apps, s.AddApp(AppSpec{
			Seq: m.seq, Priority: rapid.Int32Range(0, 2).Draw(t, "priority"),
		}))
	case 2, 3, 4, 5:
		if len(m.apps) == 0 {
			return
		}
		ask := Ask{
			Priority:            rapid.Int32Range(0, 2).Draw(t, "priority"),
			AllocationRequestID: rapid.Int64Range(-1, 0).Draw(t, "id"),
			Name:                rapid.SampledFrom([]string{Any, Any, Any, host(), "/r" + host()[1:]}).Draw(t, "name"),
			Count:               rapid.Int32Range(0, 4).Draw(t, "count"),
			RelaxLocality:       rapid.Bool().Draw(t, "relax"),
			Capability:          size(),
		}
		s.UpdateAsks(rapid.SampledFrom(m.apps).Draw(t, "app"), []Ask{ask})
	case 6:
		if len(m.held) > 0 {
			i := rapid.IntRange(0, len(m.held)-1).Draw(t, "container")
			s.Free(m.held[i].Container)
			m.held = slices.Delete(m.held, i, i+1)
		}
	case 7:
		if len(m.nodes) > 0 {
			n := rapid.SampledFrom(m.nodes).Draw(t, "node")
			if rapid.Bool().Draw(t, "resize") {
				s.At(n).SetCapability(n, size().Times(2))
			} else {
				s.At(n).SetOpen(n, anyWorks(t))
			}
		}
	case 8:
		if len(m.nodes) > 0 {
			i := rapid.IntRange(0, len(m.nodes)-1).Draw(t, "node")
			m.drop(func(c Decision) bool { return c.Node == m.nodes[i] })
			s.At(m.nodes[i]).RemoveNode(m.nodes[i])
			m.nodes = slices.Delete(m.nodes, i, i+1)
		}
	case 9:
		if len(m.apps) == 0 {
			return
		}
		i := rapid.IntRange(0, len(m.apps)-1).Draw(t, "app")
		switch rapid.IntRange(0, 2).Draw(t, "what") {
		case 0:
			m.drop(func(c Decision) bool { return c.App == m.apps[i] })
			s.RemoveApp(m.apps[i])
			m.apps = slices.Delete(m.apps, i, i+1)
		case 1:
			s.UpdateBlacklist(m.apps[i], []string{host()}, []string{host()})
		case 2:
			s.SetPriority(m.apps[i], rapid.Int32Range(0, 3).Draw(t, "priority"))
		}
	}
}

func (m *model) drop(match func(Decision) bool) {
	m.held = slices.DeleteFunc(m.held, func(c Decision) bool {
		if match(c) {
			m.s.Free(c.Container)
			return true
		}
		return false
	})
}

// After any history: no node has more than it can hold through a decision, sums are right, and nobody waits for what is
// there to be had. The same history gives the same decisions.
func TestRandomHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := model{s: New(Config{})}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			m.step(t)
			for _, c := range grants(m.s) {
				if n := &m.s.core.Nodes.At[c.Node]; n.Open == NoWork || !c.Resource.IsZero() && !n.Used.FitsIn(*m.s.core.Nodes.Capability(n)) {
					t.Fatalf("%v was put on a node with no room: %v of %v", c, n.Used, *m.s.core.Nodes.Capability(n))
				}
				m.held = append(m.held, c)
			}
			m.check(t)
		}
	})
}

// One decision: a container is granted and given back, with many nodes and waiting applications.
func BenchmarkSchedule(b *testing.B) {
	for _, nodes := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			s, _ := cluster(nodes, res(64, 32))
			apps := make([]handle.App, 1000)
			for i := range apps {
				apps[i] = s.AddApp(AppSpec{Seq: int64(i)})
			}
			ask := []Ask{row(1, Any, 16, true)}
			b.ReportAllocs()
			granted := 0
			for i := 0; granted < b.N; i++ {
				s.UpdateAsks(apps[i%len(apps)], ask)
				got := grants(s)
				granted += len(got)
				for _, c := range got {
					s.Free(c.Container)
				}
				grants(s)
			}
		})
	}
}

// admits reports how near a node is to where containers of the demand are preferred, and whether any may go there.
func admits(d *core.Demand, n *nodeset.Node) (Locality, bool) {
	switch {
	case d.Wants(n.Host) > 0:
		return NodeLocal, true
	case d.Relaxes(n.Rack):
		return RackLocal, true
	case d.RelaxAny:
		return OffSwitch, true
	}
	return 0, false
}
