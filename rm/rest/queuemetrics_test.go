package rest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"heddle/rm/queue"
	"heddle/rm/view"
	"heddle/yarn/records"
)

// stockQueueBeans are the QueueMetrics of stock 3.4.2 ResourceManagers with a node of 8 GB, 12 vcores, 10 licenses and 2048 MB
// of scratch: by scheduler and bean.
func stockQueueBeans(t *testing.T, scheduler string) map[string]map[string]any {
	t.Helper()
	b, err := os.ReadFile("testdata/queue-beans.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]map[string]map[string]any
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	return all[scheduler]
}

// queueBeansOf returns the beans of a tree as JSON has them.
func queueBeansOf(t *testing.T, tree *queue.Tree) map[string]map[string]any {
	t.Helper()
	types, err := records.NewResourceTypes(records.ResourceType{Name: "licenses"}, records.ResourceType{Name: "scratch", Units: "M"})
	if err != nil {
		t.Fatal(err)
	}
	total := records.NewResource(8192, 12)
	total[2], total[3] = 10, 2048
	s := &server{Config: Config{Queues: queue.NewLive(tree), Types: types, MinAllocation: records.NewResource(256, 1)}}
	m := queueMetrics{server: s, tree: tree, uses: map[string]*view.QueueUse{}, all: view.Metrics{Total: total, Available: total}, host: "h"}
	shares := tree.Effective(total)
	tree.Root.All(func(q *queue.Queue) { m.uses[q.Path] = &view.QueueUse{Share: shares[q.Index]} })
	out := map[string]map[string]any{}
	for _, bean := range m.beans() {
		attrs := map[string]any{}
		for _, a := range bean.Attrs {
			attrs[a.Name] = a.Value
		}
		var read map[string]any
		text, err := json.Marshal(attrs)
		if err == nil {
			err = json.Unmarshal(text, &read)
		}
		if err != nil {
			t.Fatal(err)
		}
		delete(read, "tag.Hostname")
		out[strings.TrimPrefix(bean.Name, service)] = read
	}
	return out
}

// A queue's bean had the free memory of the cluster as its AvailableMB, guarantees that weren't rounded, and nothing of GPUs and
// other types. yarn top added up 27 GB on a cluster of 8.
func TestQueueMetricsAreThoseOfYARN(t *testing.T) {
	tree, err := queue.ParseCapacity(map[string]string{
		"root.queues":                   "prod,batch,adhoc,default",
		"root.prod.capacity":            "40",
		"root.batch.capacity":           "30",
		"root.batch.maximum-capacity":   "80",
		"root.adhoc.capacity":           "20",
		"root.default.capacity":         "10",
		"root.default.maximum-capacity": "60",
		"maximum-am-resource-percent":   "0.5",
		"resource-calculator":           "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
	})
	if err != nil {
		t.Fatal(err)
	}
	got, want := queueBeansOf(t, tree), stockQueueBeans(t, "capacity")
	for name, bean := range want {
		for attr, value := range bean {
			if got[name][attr] != value {
				t.Errorf("%s %s: %v, stock has %v", name, attr, got[name][attr], value)
			}
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d beans, stock has %d", len(got), len(want))
	}
}

// With the FairScheduler, queues had the CapacityScheduler's attributes and none of fair shares.
func TestQueueMetricsOfTheFairSchedulerHaveFairShares(t *testing.T) {
	tree, err := queue.ParseFair([]byte(`<allocations>
		<queue name="prod"><weight>3</weight><minResources>1024 mb,2 vcores</minResources><maxResources>6000 mb, 9 vcores</maxResources>
			<maxRunningApps>7</maxRunningApps></queue>
		<queue name="batch" type="parent"><queue name="a"><maxAMShare>0.3</maxAMShare></queue></queue></allocations>`))
	if err != nil {
		t.Fatal(err)
	}
	got := queueBeansOf(t, tree)
	for name, bean := range stockQueueBeans(t, "fair") {
		for attr, value := range bean {
			_, has := got[name][attr]
			scheduler := strings.Contains(attr, "FairShare") // the scheduler computes these, which isn't here
			if !has || !scheduler && got[name][attr] != value {
				t.Errorf("%s %s: %v, stock has %v", name, attr, got[name][attr], value)
			}
		}
		for attr := range maps.Keys(got[name]) {
			if _, has := bean[attr]; !has {
				t.Errorf("%s has %s, which stock hasn't", name, attr)
			}
		}
	}
}

// YARN sorts the resources of a capacity vector's text by their names.
func TestTheTextOfACapacityVectorIsSorted(t *testing.T) {
	tree, err := queue.ParseCapacity(map[string]string{"root.queues": "a", "root.a.capacity": "100"})
	if err != nil {
		t.Fatal(err)
	}
	types, err := records.NewResourceTypes(records.ResourceType{Name: "licenses"}, records.ResourceType{Name: "scratch", Units: "M"})
	if err != nil {
		t.Fatal(err)
	}
	c := capacityTree{server: &server{Config: Config{Types: types}}}
	if got := c.vector(tree.Root).Text; got != "[licenses=100.0%,memory-mb=100.0%,scratch=100.0%,vcores=100.0%]" {
		t.Error(got)
	}
}

// On nodes with a label, queues have what they have there, of the guarantee that they have there. Of 40 GB with label
// x root.p has 60 % and root.q 40 %, so that root.p has nothing left, and root.q 6 GB.
func TestQueueMetricsByPartition(t *testing.T) {
	tree, err := queue.ParseCapacity(map[string]string{
		"root.queues": "p,q", "root.p.capacity": "70", "root.q.capacity": "30", "root.p.accessible-node-labels": "x", "root.q.accessible-node-labels": "x",
		"root.p.accessible-node-labels.x.capacity": "60", "root.q.accessible-node-labels.x.capacity": "40",
		"resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
	})
	if err != nil {
		t.Fatal(err)
	}
	one := records.NewResource(1024, 1)
	s := &server{Config: Config{Queues: queue.NewLive(tree), MinAllocation: one}}
	has := func(held, waits int64) map[string]*view.LabelUse {
		return map[string]*view.LabelUse{"x": {Amount: view.Amount{Used: one.Times(held), Pending: one.Times(waits), Containers: int(held), Waiting: waits}}}
	}
	m := queueMetrics{server: s, tree: tree, host: "h", sizes: map[string]records.Resource{"x": one.Times(40)}, uses: map[string]*view.QueueUse{
		"root": {Labelled: has(34, 80)}, "root.p": {Labelled: has(24, 36)}, "root.q": {Labelled: has(10, 44)},
	}}
	got := map[string]map[string]any{}
	for _, bean := range m.beans() {
		got[bean.Name] = map[string]any{}
		for _, a := range bean.Attrs {
			got[bean.Name][a.Name] = a.Value
		}
	}
	const name = service + "PartitionQueueMetrics,partition="
	for bean, want := range map[string][]int64{
		"x": {34816, 6144, 81920, 34, 80}, "x,q0=root": {34816, 6144, 81920, 34, 80}, "x,q0=root,q1=p": {24576, 0, 36864, 24, 36}, "x,q0=root,q1=q": {10240, 6144, 45056, 10, 44},
		",q0=root,q1=q": {0, 0, 0, 0, 0},
	} {
		for i, attr := range []string{"AllocatedMB", "AvailableMB", "PendingMB", "AllocatedContainers", "PendingContainers"} {
			if v := fmt.Sprint(got[name+bean][attr]); v != fmt.Sprint(want[i]) {
				t.Errorf("%s %s: %s, not %d", bean, attr, v, want[i])
			}
		}
	}
	if at := got[name+"x,q0=root,q1=q"]; at["tag.Partition"] != "x" || at["tag.Queue"] != "root.q" || got[name+"x"]["tag.Queue"] != nil {
		t.Errorf("tags %v", at)
	}
}
