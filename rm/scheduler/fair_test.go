package scheduler

import (
	"testing"

	"heddle/rm/queue"
	"heddle/yarn/records"
)

// What a stock FairScheduler tells of this file on a node of 8 GB and 8 vcores: fair queues divide memory alone, and where nothing runs
// nothing is due now.
func TestFairSharesAreTold(t *testing.T) {
	tree, err := queue.ParseFair([]byte(`<allocations>
	  <queue name="a"><weight>3</weight><maxResources>6144 mb,6 vcores</maxResources><queue name="x"><maxAMShare>0.3</maxAMShare></queue><queue name="y"/></queue>
	  <queue name="default"/>
	</allocations>`))
	if err != nil {
		t.Fatal(err)
	}
	s := New(Config{Tree: tree})
	s.AddNode(NodeSpec{Host: "n", Rack: "/r", Capability: res(8, 8)})
	s.AddApp(AppSpec{Queue: "root.a.x", User: "u"})
	s.Schedule(0)
	told := map[string][2]records.Resource{} // steady, now
	for _, q := range s.Queues() {
		told[q.Path] = [2]records.Resource{q.Steady, q.Fair}
		// of memory the part of what is due, of vcores that of what is free; rounded up
		if want := records.NewResource(1844, 3); q.Path == "root.a.x" && q.AMLimit != want {
			t.Errorf("ApplicationMasters of %s may have %v, want %v", q.Path, q.AMLimit, want)
		}
	}
	for path, want := range map[string][2]records.Resource{
		"root":         {res(8, 8), res(8, 8)},
		"root.a":       {res(6, 0), res(6, 0)},
		"root.a.x":     {res(3, 0), res(6, 0)},
		"root.a.y":     {res(3, 0), {}},
		"root.default": {res(2, 0), {}},
	} {
		if told[path] != want {
			t.Errorf("%s: %v, want %v", path, told[path], want)
		}
	}
}
