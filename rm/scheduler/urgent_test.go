package scheduler

import (
	"testing"

	"heddle/rm/queue"
	"heddle/rm/scheduler/explain"
)

// A request for one host that waits behind a more urgent one of its application gets the room there once that one is withdrawn.
func TestStrictRequestIsTriedWhenTheMoreUrgentOneGoes(t *testing.T) {
	tree, err := queue.ParseFair([]byte(`<allocations><queue name="a"/><queue name="b"/></allocations>`))
	if err != nil {
		t.Fatal(err)
	}
	s := New(Config{Tree: tree})
	s.AddNode(NodeSpec{Host: "n", Rack: "/r", Capability: res(2, 4)})
	s.AddNode(NodeSpec{Host: "small", Rack: "/r", Capability: res(1, 1)})
	other := s.AddApp(AppSpec{Queue: "root.b", User: "u", Seq: 1})
	s.UpdateAsks(other, []Ask{
		{Priority: 1, Name: Any, Capability: res(1, 1), Count: 1},
		{Priority: 1, Name: "n", Capability: res(1, 1), Count: 1, RelaxLocality: true},
	})
	if got := grants(s); len(got) != 1 {
		t.Fatalf("the other application got %v", got)
	}
	app := s.AddApp(AppSpec{Queue: "root.a", User: "u", Seq: 2})
	urgent := Ask{Priority: 0, Name: Any, Capability: res(2, 1), Count: 1, RelaxLocality: true}
	s.UpdateAsks(app, []Ask{
		urgent,
		{Priority: 1, Name: Any, Capability: res(1, 1), Count: 1},
		{Priority: 1, Name: "n", Capability: res(1, 1), Count: 1, RelaxLocality: true},
	})
	if got := grants(s); len(got) != 0 {
		t.Fatalf("the more urgent request comes first on the node, and %v was granted", got)
	}
	for _, r := range s.Explain(app) {
		if r.Ask.Priority == 1 && r.Limit != explain.BehindOwn {
			t.Errorf("says %+v", r)
		}
	}
	urgent.Count = 0
	s.UpdateAsks(app, []Ask{urgent})
	if got := grants(s); len(got) != 1 || got[0].App != app {
		t.Fatalf("there is room on the host, and nothing comes first: got %v; says %+v", got, s.Explain(app))
	}
}
