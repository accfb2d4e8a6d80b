package scheduler

import (
	"fmt"
	"testing"

	"heddle/rm/queue"
	"heddle/rm/queue/template"
)

// createdTree has 10,000 leaves that were created on demand below 20 parents.
func createdTree(tb testing.TB) *queue.Tree {
	settings := map[string]string{
		"maximum-am-resource-percent": "1", "maximum-applications": "1000000",
		"resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
	}
	var made []template.Created
	for i := range 20 {
		p := fmt.Sprintf("p%d", i)
		settings["root.queues"] += p + ","
		settings["root."+p+".capacity"] = "1w"
		settings["root."+p+".auto-queue-creation-v2.enabled"] = "true"
		for j := range 500 {
			made = append(made, template.Created{Path: fmt.Sprintf("root.p%d.l%d", i, j)})
		}
	}
	tree, err := capacityTree(tb, settings).Adding(made)
	if err != nil {
		tb.Fatal(err)
	}
	return tree
}

// A decision where the cluster is full and 2,000 of 10,000 created queues have an application each.
func BenchmarkDecisionInCreatedQueues(b *testing.B) {
	s := New(Config{Tree: createdTree(b), Minimum: res(1, 1)})
	for i := range 1000 {
		s.AddNode(NodeSpec{Host: fmt.Sprintf("n%d", i), Rack: fmt.Sprintf("/r%d", i/40), Capability: res(20, 20)})
	}
	for i := range 2000 {
		h := s.AddApp(AppSpec{Seq: int64(i), Queue: fmt.Sprintf("root.p%d.l%d", i%20, i/20*5), User: fmt.Sprintf("u%d", i%7), AM: res(1, 1)})
		ask(s, h, i, 1<<30)
	}
	decide(b, s)
}

// One more queue beside 10,000 that were created: its tree, and a scheduler that resumes with that.
func BenchmarkCreation(b *testing.B) {
	tree := createdTree(b)
	s := New(Config{Tree: tree, Minimum: res(1, 1)})
	for i := range 1000 {
		s.AddNode(NodeSpec{Host: fmt.Sprintf("n%d", i), Rack: fmt.Sprintf("/r%d", i/40), Capability: res(20, 20)})
	}
	for i := range 2000 {
		h := s.AddApp(AppSpec{Seq: int64(i), Queue: fmt.Sprintf("root.p%d.l%d", i%20, i/20*5), User: fmt.Sprintf("u%d", i%7), AM: res(1, 1)})
		ask(s, h, i, 1<<30)
	}
	b.ReportAllocs()
	for b.Loop() {
		next, err := tree.Adding([]template.Created{{Path: "root.p3.more"}})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.SetTree(next); err != nil {
			b.Fatal(err)
		}
	}
}
