package spark

import (
	"encoding/json"
	"os/exec"
	"sync"
	"testing"

	"heddle/integration/hadooplab"
)

// What MapReduce, Spark and distributed shell have asked for and done together on a full cluster is met by heddle what-if, when it plays the record unchanged: within 1.7 % in the median,
// 10 % at p95.
func TestRecordsOfRealJobsArePlayed(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	dir := t.TempDir()
	o := options
	o.Site = map[string]string{
		"heddle.record.dir": dir, "yarn.nodemanager.resource.memory-mb": "4096", "yarn.nodemanager.resource.cpu-vcores": "16", "yarn.scheduler.minimum-allocation-mb": "128",
		"yarn.scheduler.capacity.maximum-am-resource-percent": "0.6", "yarn.nodemanager.admin-env": quickJVM,
	}
	l := newBilled(t, o)
	l.Put(t, "/in/4/lines", "00\n01\n02\n03\n")
	var all sync.WaitGroup
	for _, f := range []string{"MapReduce", "Spark", "distributed shell", "MapReduce", "Spark", "MapReduce"} {
		all.Go(func() {
			c := l.launch(t, submission{framework: f, queue: "default", tasks: 4, memory: "640"}, "sleep 8")
			if r, err := c.Wait(t.Context()); err != nil || r.Code != 0 {
				t.Errorf("%s: exit code %d, %v: %s", f, r.Code, err, r.Stderr)
			}
		})
	}
	all.Wait()
	out, err := exec.Command(options.Heddle, "what-if", "-record", dir, "-nodes", "+1", "-json").Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var answer struct {
		Backtest struct {
			Apps             int
			Median, P90, P95 float64
		}
		Cluster struct {
			Then, Before, After struct {
				Containers int
				Wait       struct{ P90 float64 }
			}
		}
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatal(err)
	}
	b, c := answer.Backtest, answer.Cluster
	t.Logf("backtest of %d applications with %d containers: median %.2f %%, p95 %.2f %%; p90 wait %.1f s recorded, %.1f s played, %.1f s with a node more",
		b.Apps, c.Then.Containers, 100*b.Median, 100*b.P95, c.Then.Wait.P90, c.Before.Wait.P90, c.After.Wait.P90)
	if b.Apps != 6 || b.Median > 0.017 || b.P95 > 0.1 || c.Then.Wait.P90 < 1 || c.After.Wait.P90 >= c.Before.Wait.P90 {
		t.Errorf("the backtest of %d applications misses by %.3f in the median, %.3f at p95: %s", b.Apps, b.Median, b.P95, out)
	}
}
