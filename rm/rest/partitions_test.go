package rest

import (
	"fmt"
	"testing"

	"heddle/rm/queue"
	"heddle/rm/view"
	"heddle/yarn/records"
)

// The root has a weight in partitions if a setting of its own gives it one, as in YARN: the queues below it don't.
func TestTheRootsWeightInAPartition(t *testing.T) {
	one := records.NewResource(1024, 1)
	for capacity, want := range map[string][2]float32{"": {-1, 0}, "100": {-1, 0}, "1w": {1, 1}} {
		tree, err := queue.ParseCapacity(map[string]string{
			"root.queues": "p", "root.p.capacity": "2w", "root.p.accessible-node-labels": "x", "root.p.accessible-node-labels.x.capacity": "2w",
			"root.accessible-node-labels.x.capacity": capacity,
		})
		if err != nil {
			t.Fatal(err)
		}
		x := tree.In("x")
		c := capacityTree{server: &server{Config: Config{Queues: queue.NewLive(tree), MinAllocation: one}}, tree: tree, uses: map[string]*view.QueueUse{"root": {}}}
		got := c.capacity(&partition{name: "x", queue: x.Root, size: one, use: &view.LabelUse{}})
		if got.Weight != want[0] || got.NormalizedWeight != want[1] {
			t.Errorf("%s: weight %v, %v; want %v", capacity, got.Weight, got.NormalizedWeight, want)
		}
	}
}

// As in YARN a queue whose resources have different units is of mode mixed, and none of its amounts is shown as configured.
func TestQueuesOfMixedUnits(t *testing.T) {
	tree, err := queue.ParseCapacity(map[string]string{
		"legacy-queue-mode.enabled": "false", "root.queues": "a,b,c", "root.a.capacity": "[memory=50%,vcores=8]", "root.b.capacity": "[memory=50%,vcores=50%]",
		"root.c.capacity": "[memory=4096,vcores=8]",
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"a": "mixed [0 0]", "b": "percentage [0 0]", "c": "absolute [4096 8]"} {
		q, _ := tree.Find(path)
		least := q.ConfiguredMin()
		if got := fmt.Sprint(kindOf(q).Mode, " ", least[:2]); got != want {
			t.Errorf("%s: %s; want %s", path, got, want)
		}
	}
}

// A queue without a share in a partition is shown there while it has containers that it was lent.
func TestPartitionsThatLend(t *testing.T) {
	tree, err := queue.ParseCapacity(map[string]string{
		"root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50", "root.accessible-node-labels.x.capacity": "100",
		"root.a.accessible-node-labels": "x", "root.a.accessible-node-labels.x.capacity": "100",
	})
	if err != nil {
		t.Fatal(err)
	}
	one := records.NewResource(1024, 1)
	q, _ := tree.Find("b")
	use := &view.QueueUse{}
	c := capacityTree{tree: tree, uses: map[string]*view.QueueUse{"root.b": use}}
	if all := c.labelsOf(q); len(all) != 0 {
		t.Errorf("without containers there: %+v", all)
	}
	use.Labelled = map[string]*view.LabelUse{"x": {Amount: view.Amount{Used: one}}}
	if all := c.labelsOf(q); len(all) != 1 || all[0] != "x" {
		t.Errorf("with one there: %+v", all)
	}
}
