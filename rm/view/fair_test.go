package view

import (
	"testing"

	"heddle/rm/queue"
	"heddle/yarn/records"
)

// What a stock FairScheduler tells of this file on a node of 8 GB and 8 vcores: fair queues divide memory alone, and what isn't
// active has nothing now.
func TestFairShares(t *testing.T) {
	tree, err := queue.ParseFair([]byte(`<allocations>
	  <queue name="a"><weight>3</weight><maxResources>6144 mb,6 vcores</maxResources><queue name="x"/><queue name="y"/></queue>
	  <queue name="default"/>
	</allocations>`))
	if err != nil {
		t.Fatal(err)
	}
	uses := map[string]*QueueUse{}
	for _, q := range tree.Queues() {
		uses[q.Path] = &QueueUse{}
	}
	uses["root.a.x"].Apps = []*App{{}}
	shares := FairShares(tree, uses, records.NewResource(8192, 8))
	for path, want := range map[string][2]records.Resource{ // steady, now
		"root":         {records.NewResource(8192, 8), records.NewResource(8192, 8)},
		"root.a":       {records.NewResource(6144, 0), records.NewResource(6144, 0)},
		"root.a.x":     {records.NewResource(3072, 0), records.NewResource(6144, 0)},
		"root.a.y":     {records.NewResource(3072, 0), {}},
		"root.default": {records.NewResource(2048, 0), {}},
	} {
		q, _ := tree.Find(path)
		if got := [2]records.Resource{shares[q.Index].Steady, shares[q.Index].Fair}; got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}
