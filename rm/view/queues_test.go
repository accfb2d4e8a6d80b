package view

import (
	"testing"

	"heddle/rm/queue"
	"heddle/yarn/records"
)

// Two GB and three vcores of eight each, in a queue that is promised half of the cluster.
func TestUsageIsMeasuredAsTheQueuesAre(t *testing.T) {
	a := App{Queue: "root.a", Used: records.NewResource(2048, 3), Cluster: records.NewResource(8192, 8)}
	for calculator, want := range map[string][2]float32{
		"org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator":  {50, 25},
		"org.apache.hadoop.yarn.util.resource.DominantResourceCalculator": {75, 37.5},
	} {
		tree, err := queue.ParseCapacity(map[string]string{
			"root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50",
			"resource-calculator": calculator,
		})
		if err != nil {
			t.Fatal(err)
		}
		ofQueue, ofCluster := a.Usage(tree)
		if got := [2]float32{ofQueue, ofCluster}; got != want {
			t.Errorf("%s: %v, want %v", calculator, got, want)
		}
	}
	if ofQueue, ofCluster := (&App{Queue: "root.gone"}).Usage(&queue.Tree{}); ofQueue != 0 || ofCluster != 0 {
		t.Errorf("nothing of nothing: %v %v", ofQueue, ofCluster)
	}
}
