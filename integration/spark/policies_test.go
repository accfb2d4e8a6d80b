package spark

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// waits runs four tasks that wait for a file.
const waits = `
import os, sys, time
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("waits").getOrCreate()
gate = sys.argv[1]
def task(i):
    while not os.path.exists(gate):
        time.sleep(0.1)
    return i
print("sum", spark.sparkContext.parallelize(range(4), 4).map(task).sum())
spark.stop()
`

// Two applications of Spark share a queue with the policy hopper, which knows their executors as containers only. Of that which waits for executors people read what the policy
// says, and both end well.
func TestApplicationsUnderHopper(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	if !onHeddle {
		t.Skip("Hadoop has no stage policies")
	}
	o := options
	o.Site = maps.Clone(options.Site)
	maps.Copy(o.Site, map[string]string{
		"yarn.scheduler.capacity.root.default.ordering-policy": "hopper", "yarn.scheduler.capacity.root.default.user-limit-factor": "100",
		"yarn.scheduler.capacity.maximum-am-resource-percent": "1", "yarn.nodemanager.resource.memory-mb": "6144",
	})
	l := hadooplab.Start(t, o)
	gate := filepath.Join(t.TempDir(), "gate")
	if err := os.Chmod(filepath.Dir(gate), 0o777); err != nil {
		t.Fatal(err)
	}
	path := program(t, waits)
	first, firstID := begin(t, l, "--num-executors", "3", path, gate)
	second, secondID := begin(t, l, "--num-executors", "3", path, gate)
	await.Slowly(t, "people read of the policy", func() bool {
		for _, id := range []string{firstID, secondID} {
			out, err := exec.Command(options.Heddle, "app", "--conf", l.Conf(), "-why", id).CombinedOutput()
			if err == nil && hadooplab.Sentences["hopper"].Match(out) {
				return true
			}
		}
		return false
	})
	if err := os.WriteFile(gate, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for id, c := range map[string]*hadooplab.Command{firstID: first, secondID: second} {
		if a := end(t, c, id); a.Code != 0 || !strings.Contains(a.Stdout, "sum 6") {
			t.Errorf("%s: exit code %d\n%s\n%s", id, a.Code, a.Stdout, a.Stderr)
		}
	}
}
