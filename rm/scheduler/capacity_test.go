package scheduler

import (
	"maps"
	"testing"

	"heddle/rm/queue"
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/handle"
	"heddle/yarn/records"

	"github.com/google/go-cmp/cmp"
)

// capacityTree reads settings, given by what follows yarn.scheduler.capacity. in their keys.
func capacityTree(t testing.TB, settings map[string]string) *queue.Tree {
	t.Helper()
	tree, err := queue.ParseCapacity(settings)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// use runs applications that ask for more than there is on one large node, and returns how many containers of 1 GB each got.
func use(t *testing.T, settings map[string]string, gb int64, apps ...AppSpec) []int {
	t.Helper()
	all := map[string]string{"maximum-am-resource-percent": "1"}
	maps.Copy(all, settings)
	s := New(Config{Tree: capacityTree(t, all), Minimum: res(1, 1)})
	s.AddNode(NodeSpec{Host: "n", Rack: "/r", Capability: res(gb, gb)})
	handles := make([]handle.App, len(apps))
	for i, spec := range apps {
		spec.Seq, spec.AM = int64(i), res(1, 1)
		handles[i] = s.AddApp(spec)
		s.UpdateAsks(handles[i], []Ask{{Name: Any, Count: 1000, RelaxLocality: true, Capability: res(1, 1)}})
	}
	s.Schedule(0)
	out := make([]int, len(apps))
	for i, h := range handles {
		out[i] = int(s.core.Apps[h].Running)
	}
	return out
}

func TestCapacities(t *testing.T) {
	two := map[string]string{"root.queues": "a,b", "root.a.capacity": "75", "root.b.capacity": "25"}
	with := func(more map[string]string) map[string]string {
		m := maps.Clone(two)
		maps.Copy(m, more)
		return m
	}
	a, b := AppSpec{Queue: "root.a", User: "u"}, AppSpec{Queue: "root.b", User: "u"}
	for name, c := range map[string]struct {
		settings map[string]string
		apps     []AppSpec
		want     []int
	}{
		"shared by capacity":       {two, []AppSpec{a, b}, []int{75, 25}},
		"user limit factor":        {two, []AppSpec{a}, []int{76}},
		"elastic":                  {with(map[string]string{"root.a.user-limit-factor": "10"}), []AppSpec{a}, []int{100}},
		"a factor like no limit":   {with(map[string]string{"root.a.user-limit-factor": "1e15"}), []AppSpec{a}, []int{100}}, // the limit wrapped
		"maximum of a queue":       {with(map[string]string{"root.a.user-limit-factor": "10", "root.a.maximum-capacity": "80"}), []AppSpec{a}, []int{80}},
		"first come, first served": {two, []AppSpec{a, a}, []int{76, 0}},
		"application priority":     {two, []AppSpec{a, {Queue: "root.a", User: "u", Priority: 1}}, []int{0, 76}},
		"users share":              {with(map[string]string{"root.a.minimum-user-limit-percent": "25"}), []AppSpec{a, {Queue: "root.a", User: "v"}}, []int{51, 49}},
		"fair leaf":                {with(map[string]string{"root.a.ordering-policy": "fair"}), []AppSpec{a, a, a}, []int{26, 25, 25}},
		"priority of queues":       {with(map[string]string{"root.ordering-policy": "priority-utilization", "root.b.priority": "1", "root.b.user-limit-factor": "10"}), []AppSpec{a, b}, []int{75, 25}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, use(t, c.settings, 100, c.apps...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMastersShare(t *testing.T) {
	s := New(Config{Tree: capacityTree(t, map[string]string{
		"root.queues": "a", "root.a.capacity": "100", "maximum-am-resource-percent": "0.2",
	}), Minimum: res(1, 1)})
	s.AddNode(NodeSpec{Host: "n", Rack: "/r", Capability: res(10, 10)})
	var apps []handle.App
	for i := range 4 {
		h := s.AddApp(AppSpec{Queue: "root.a", User: "u", Seq: int64(i), AM: res(1, 1)})
		s.UpdateAsks(h, []Ask{row(0, Any, 1, true)})
		apps = append(apps, h)
	}
	got := grants(s)
	if diff := cmp.Diff([]placed{{apps[0], 0, OffSwitch}, {apps[1], 0, OffSwitch}}, places(got)); diff != "" {
		t.Error(diff)
	}
	s.Free(got[0].Container)
	s.RemoveApp(apps[0])
	if diff := cmp.Diff([]placed{{apps[2], 0, OffSwitch}}, places(grants(s))); diff != "" {
		t.Error(diff)
	}
	if used := s.core.Queues[core.Root].Used; used != (records.Resource{}).Add(res(2, 2)) {
		t.Errorf("the root holds %v", used)
	}
}

func TestHeadroom(t *testing.T) {
	s := New(Config{Tree: capacityTree(t, map[string]string{
		"root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50", "root.a.maximum-capacity": "80",
		"root.a.user-limit-factor": "1.2", "maximum-am-resource-percent": "1",
	}), Minimum: res(1, 1)})
	s.AddNode(NodeSpec{Host: "n", Rack: "/r", Capability: res(10, 20)})
	a := s.AddApp(AppSpec{Queue: "root.a", User: "u", Seq: 1, AM: res(1, 1)})
	s.UpdateAsks(a, []Ask{row(1, Any, 1, true)})
	s.Schedule(0)
	if got := s.HeadroomOf(a); got != res(4, 19) { // the limit is the queue's 5 GB until the user has them
		t.Errorf("of the user's limit is left %v", got)
	}
	b := s.AddApp(AppSpec{Queue: "root.b", User: "u", Seq: 2, AM: res(1, 1)})
	s.UpdateAsks(b, []Ask{{Name: Any, Count: 1, RelaxLocality: true, Capability: res(8, 1)}})
	s.Schedule(0)
	if got := s.HeadroomOf(a); got != res(1, 18) {
		t.Errorf("of the cluster is left %v", got)
	}
}

// The queue has a quarter of the memory and half of the cores that it is guaranteed.
func TestUsedShareIsThatOfTheDominantResource(t *testing.T) {
	for calculator, want := range map[string]float64{"DefaultResourceCalculator": 0.25, "DominantResourceCalculator": 0.5} {
		s := New(Config{Minimum: res(1, 1), Tree: capacityTree(t, map[string]string{
			"root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50", "maximum-am-resource-percent": "1",
			"resource-calculator": "org.apache.hadoop.yarn.util.resource." + calculator,
		})})
		s.AddNode(NodeSpec{Host: "n0", Rack: "/r0", Capability: res(16, 16)})
		h := s.AddApp(AppSpec{Queue: "root.a", User: "u", AM: res(1, 1)})
		s.UpdateAsks(h, []Ask{{Name: Any, Count: 1, RelaxLocality: true, Capability: res(2, 4)}})
		s.Schedule(0)
		if q, ok := s.Queue("root.a"); !ok || q.UsedShare != want {
			t.Errorf("%s: %v, want %v", calculator, q.UsedShare, want)
		}
	}
}
