package spark

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/nm/nmtest"
	"heddle/rm/receipt"
)

// spread is a job whose tasks fill a third of each of three nodes twice, so that two run on each, beside an ApplicationMaster.
func spread(framework string) submission {
	return submission{framework: framework, queue: "default", tasks: 6, count: 2_000_000, memory: "2304", dynamic: true}
}

// node is the name of the node's group in which a container's processes are.
func node(t *testing.T, container string) string {
	t.Helper()
	groups := hadooplab.Groups(t, container)
	if len(groups) == 0 {
		t.Fatalf("%s has no group", container)
	}
	return filepath.Base(filepath.Dir(groups[0]))
}

// limit lets all containers of a node have so many ms of a processor in a second; 0: all that they want.
func limit(t *testing.T, node string, ms int) {
	t.Helper()
	hadooplab.Throttle(t, slices.DeleteFunc(hadooplab.Groups(t, node), func(dir string) bool { return filepath.Base(dir) != node }), ms)
}

// throttled has the tasks of a job compute on three nodes, of which one has hardly a processor for twice as long as the job has taken before.
func (l *billed) throttled(t *testing.T, framework string) {
	o := spread(framework)
	begun := time.Now()
	j := l.runs(t, o)
	on := map[string]int{}
	for _, id := range j.task.containers() {
		on[node(t, id)]++
	}
	master, slow := node(t, j.container(1)+"000001"), ""
	for name, tasks := range on {
		if name != master && tasks == 2 {
			slow = name
		}
	}
	if slow == "" {
		t.Fatalf("the tasks of %s run on %v, its ApplicationMaster on %s", framework, on, master)
	}
	limit(t, slow, 20)
	t.Cleanup(func() { limit(t, slow, 0) })
	opened := time.Now()
	j.task.open(t)
	await.Slowly(t, fmt.Sprint("the other nodes have done their tasks of ", framework), func() bool {
		return len(j.task.containers()) == on[slow] && time.Since(opened) > max(heldUp, 2*opened.Sub(begun))
	})
	limit(t, slow, 0)
	l.end(t, j, "a throttled node", receipt.SlowNode)
}

// Of eight jobs of MapReduce, Spark, heddle mr and distributed shell, each on three nodes of which one is throttled while tasks compute, the largest part of at least seven receipts is the slow node, and
// each receipt's parts sum to the job's time.
func TestReceiptsNameAThrottledNode(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	nmtest.RealGroups(t)
	o := options
	o.NodeManagers, o.Site = 3, map[string]string{
		"yarn.nodemanager.resource.memory-mb": "6144", "yarn.nodemanager.resource.cpu-vcores": "64", "yarn.scheduler.minimum-allocation-mb": "128",
		"yarn.scheduler.capacity.maximum-am-resource-percent": "0.9", "yarn.nodemanager.admin-env": quickJVM,
	}
	home(t, hadooplab.SparkVersion) // what it takes to fetch is no part of a job
	l := newBilled(t, o)
	l.Put(t, "/in/6/lines", "00\n01\n02\n03\n04\n05\n")
	for _, framework := range []string{"Spark", "MapReduce", "heddle mr", "distributed shell"} {
		for i := range 2 {
			t.Run(fmt.Sprint(framework, i), func(t *testing.T) { l.throttled(t, framework) })
		}
	}
	if named := l.print(t); len(l.rows) != 8 || named < 7 {
		t.Errorf("%d of %d receipts name the cause", named, len(l.rows))
	}
}
