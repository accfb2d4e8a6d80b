package spark

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

// awaits keeps two executors at work until a file is there.
const awaits = `
import os, sys, time
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("waits").getOrCreate()
path = sys.argv[1]
def slow(i):
    while not os.path.exists(path):
        time.sleep(0.1)
    return i
print("sum", spark.sparkContext.parallelize(range(4), 4).map(slow).sum())
spark.stop()
`

// TestSparkAndMapReduceOnThreePartitions has drivers, executors, ApplicationMasters and tasks run where their labels say. A third
// node, which has no label, stays empty.
func TestSparkAndMapReduceOnThreePartitions(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	l := hadooplab.StartPartitioned(t, options)
	done := filepath.Join(t.TempDir(), "done")
	app, id := begin(t, l.Lab, "--deploy-mode", "cluster", "--num-executors", "2", "--executor-cores", "2",
		"--conf", "spark.yarn.am.nodeLabelExpression=masters", "--conf", "spark.yarn.executor.nodeLabelExpression=gpu", program(t, awaits), done)
	l.Has(t, "the driver is on masters, the executors are on gpu", 2, 1, 0)
	run(t, mapReduce(t, l.Lab, "pi", "default", "-Dmapreduce.job.am.node-label-expression=masters", "-Dmapreduce.job.node-label-expression=gpu", "2", "10"))
	l.Has(t, "MapReduce has ended", 2, 1, 0)
	if err := os.WriteFile(done, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if s := l.Status(t, end(t, app, id).id); !strings.Contains(s, "Final-State : SUCCEEDED\n") {
		t.Error("Spark ended with ", s)
	}
}
