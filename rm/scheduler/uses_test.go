package scheduler

import (
	"testing"

	"heddle/rm/queue"
	"heddle/yarn/records"
)

// What an application has and waits for adds up over partitions, and each queue's amounts stand in its partition.
func TestUsesOfPartitions(t *testing.T) {
	tree, err := queue.ParseCapacity(map[string]string{
		"root.queues": "a", "root.a.capacity": "100", "root.a.user-limit-factor": "10", "root.a.accessible-node-labels": "x", "root.a.accessible-node-labels.x.capacity": "100",
		"maximum-am-resource-percent": "1",
	})
	if err != nil {
		t.Fatal(err)
	}
	one := records.NewResource(1024, 1)
	s := New(Config{Tree: tree, Minimum: one})
	app := s.AddApp(AppSpec{Queue: "root.a", User: "u", Seq: 1})
	if uses := s.UsesOf(app); uses != nil {
		t.Errorf("without labels: %+v", uses)
	}
	for _, label := range []string{"", "x"} {
		h := s.AddNode(NodeSpec{Host: "n" + label, Rack: "r", Capability: one.Times(4), Label: label})
		s.At(h).SetOpen(h, AllWork)
	}
	s.UpdateAsks(app, []Ask{{Name: Any, Capability: one, Count: 3, RelaxLocality: true}, {Priority: 1, Name: Any, Capability: one, Count: 6, RelaxLocality: true, Label: "x"}})
	s.Schedule(1)
	uses := s.UsesOf(app)
	want := []Use{{Used: one.Times(3), Running: 3, Master: true, Asked: true}, {Label: "x", Used: one.Times(4), Running: 4, Pending: one.Times(2), Waiting: 2, Asked: true}}
	if len(uses) != 2 || uses[0] != want[0] || uses[1] != want[1] {
		t.Errorf("%+v, not %+v", uses, want)
	}
	in := s.ByLabel()["x"]
	if len(in) != 2 || in[1].Path != "root.a" || in[1].Used != one.Times(4) || in[0].Waits != 2 {
		t.Errorf("queues in x: %+v", in)
	}
}
