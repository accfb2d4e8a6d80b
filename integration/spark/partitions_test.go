package spark

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
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
	const queue = "yarn.scheduler.capacity.root."
	o := options
	o.NodeManagers = 3
	o.Site = map[string]string{
		"yarn.node-labels.enabled": "true", "yarn.node-labels.fs-store.root-dir": "file://" + t.TempDir(),
		"yarn.scheduler.capacity.maximum-am-resource-percent":         "0.9",
		queue + "accessible-node-labels.gpu.capacity":                 "100",
		queue + "accessible-node-labels.masters.capacity":             "100",
		queue + "default.accessible-node-labels":                      "*",
		queue + "default.accessible-node-labels.gpu.capacity":         "100",
		queue + "default.accessible-node-labels.masters.capacity":     "100",
		queue + "default.accessible-node-labels.gpu.maximum-capacity": "100",
	}
	l := hadooplab.Start(t, o)
	nodes := nodeIDs(t, l)
	if len(nodes) != 3 {
		t.Fatal("nodes: ", nodes)
	}
	for _, args := range [][]string{
		{"-addToClusterNodeLabels", "gpu(exclusive=true),masters(exclusive=true)"},
		{"-replaceLabelsOnNode", nodes[0] + "=gpu " + nodes[1] + "=masters", "-failOnUnknownNodes"},
	} {
		if out, err := l.Run(t.Context(), append([]string{"yarn", "rmadmin"}, args...)...); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	end := filepath.Join(t.TempDir(), "end")
	runs := func(what string, want [3]int) {
		t.Helper()
		await.Slowly(t, what, func() bool { return containers(t, l, nodes) == want })
	}
	app, id := begin(t, l, "--deploy-mode", "cluster", "--num-executors", "2", "--executor-cores", "2",
		"--conf", "spark.yarn.am.nodeLabelExpression=masters", "--conf", "spark.yarn.executor.nodeLabelExpression=gpu", program(t, awaits), end)
	runs("the driver is on masters, the executors are on gpu", [3]int{2, 1, 0})
	tests, err := l.Jar("hadoop-mapreduce-examples")
	if err != nil {
		t.Fatal(err)
	}
	pi, err := l.Begin("", "hadoop", "jar", tests, "pi", "-Dmapreduce.job.am.node-label-expression=masters", "-Dmapreduce.job.node-label-expression=gpu", "2", "10")
	if err != nil {
		t.Fatal(err)
	}
	pi.EndWith(t)
	run(t, pi)
	runs("MapReduce has ended", [3]int{2, 1, 0})
	if err := os.WriteFile(end, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if e := endOf(t, l, app, id); e != "SUCCEEDED" {
		t.Error("Spark ended with ", e)
	}
}

// clusterNode is a node in the ResourceManager's REST.
type clusterNode struct {
	ID            string `json:"id"`
	NumContainers int    `json:"numContainers"`
}

func clusterNodes(t *testing.T, l *hadooplab.Lab) []clusterNode {
	t.Helper()
	var said struct{ Nodes struct{ Node []clusterNode } }
	resp, err := http.Get(fmt.Sprintf("http://localhost:%d/ws/v1/cluster/nodes", l.Port("rm-http")))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&said); err != nil {
		t.Fatal(err)
	}
	return said.Nodes.Node
}

func nodeIDs(t *testing.T, l *hadooplab.Lab) (ids []string) {
	t.Helper()
	for _, n := range clusterNodes(t, l) {
		ids = append(ids, n.ID)
	}
	return ids
}

// containers returns how many containers each of three nodes has.
func containers(t *testing.T, l *hadooplab.Lab, ids []string) (n [3]int) {
	t.Helper()
	for _, node := range clusterNodes(t, l) {
		for i, id := range ids {
			if node.ID == id {
				n[i] = node.NumContainers
			}
		}
	}
	return n
}

// endOf waits for spark-submit, and returns what the ResourceManager says of the application's end.
func endOf(t *testing.T, l *hadooplab.Lab, c *hadooplab.Command, id string) string {
	t.Helper()
	a := end(t, c, id)
	var said struct {
		App struct{ FinalStatus string }
	}
	resp, err := http.Get(fmt.Sprintf("http://localhost:%d/ws/v1/cluster/apps/%s", l.Port("rm-http"), a.id))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&said); err != nil {
		t.Fatal(err)
	}
	return said.App.FinalStatus
}
