package spark

import (
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

// loses kills the executor that its task is in.
const loses = `
import os, signal
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("loses").getOrCreate()
def die(_):
    pid = os.getpid()
    while b"CoarseGrained" not in open("/proc/%d/cmdline" % pid, "rb").read():
        pid = int(open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[1])
    os.kill(pid, signal.SIGKILL)
spark.sparkContext.parallelize([1], 1).map(die).collect()
`

// TestGivesUp: Spark's ApplicationMaster ends an application that can't get on, by what it hears of nodes and containers.
func TestGivesUp(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	l := lab.Lab(t)
	for name, c := range map[string]struct {
		option, program string
		diagnostics     string
	}{
		"executors fail":         {"spark.yarn.max.executor.failures=2", loses, "Max number of executor failures (2) reached"},
		"all nodes are excluded": {"spark.yarn.exclude.nodes=localhost", pi, "Due to executor failures all available nodes are excluded"},
	} {
		t.Run(name, func(t *testing.T) {
			a := submit(t, l, "--deploy-mode", "cluster", "--conf", "spark.yarn.maxAppAttempts=1", "--conf", "spark.task.maxFailures=100",
				"--conf", c.option, program(t, c.program))
			if a.Code != 1 || !strings.Contains(a.Stderr, "final status: FAILED") {
				t.Errorf("exit code %d\n%s", a.Code, a.Stderr)
			}
			if got := l.Status(t, a.id); !strings.Contains(got, "Final-State : FAILED") || !strings.Contains(got, c.diagnostics) {
				t.Error(got)
			}
		})
	}
}
