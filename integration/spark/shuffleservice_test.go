package spark

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/ports"
)

// serviceVersion is the release of Spark whose external shuffle runs beside the node, for applications of these releases: those of 4.0 use an older service, as on a
// cluster that is upgraded later. serviceJar has the service without what it needs, which is in Spark's own jars.
const (
	serviceVersion = "3.5.9"
	serviceJar     = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>heddle</groupId><artifactId>sparkshuffle</artifactId><version>1</version><packaging>pom</packaging>
<dependencies><dependency><groupId>org.apache.spark</groupId><artifactId>spark-network-yarn_2.12</artifactId><version>3.5.5</version></dependency></dependencies></project>`
)

var servedVersions = []string{serviceVersion, hadooplab.SparkVersion}

// servedShuffles writes a shuffle, and reads it again after each step. Map tasks count themselves, so that the last line says whether one ran twice.
const servedShuffles = `
import os, sys, time
from pyspark.sql import SparkSession
folder = sys.argv[1]
spark = SparkSession.builder.appName("shuffles").getOrCreate()
sc = spark.sparkContext
maps, rows = sc.accumulator(0), 40000
def pair(i):
    maps.add(1)
    return (i % 100, 1)
counts = sc.parallelize(range(rows), 4).map(pair).reduceByKey(lambda a, b: a + b, 4)
def executors():
    return sc._jsc.sc().getExecutorMemoryStatus().size() - 1
def step(name, ready):
    while not ready():
        time.sleep(0.2)
    open(os.path.join(folder, name), "w").close()
    while not os.path.exists(os.path.join(folder, name + ".done")):
        time.sleep(0.2)
def read():
    got = dict(counts.collect())
    assert got == {k: rows // 100 for k in range(100)}, got
read()
step("released", lambda: executors() == 0)
read()
step("again", lambda: executors() == 0)
read()
def slow(it):
    open(os.path.join(folder, "busy%d" % os.getpid()), "w").close()
    while not os.path.exists(os.path.join(folder, "busy.done")):
        time.sleep(0.2)
    return [sum(v for _, v in it)]
assert sum(counts.mapPartitions(slow).collect()) == rows
print("maps ran", maps.value, "times")
spark.stop()
`

// withService starts a lab whose node has Spark's external shuffle, on that port.
func withService(t *testing.T, set map[string]string) (l *hadooplab.Lab, servicePort int) {
	t.Helper()
	return withServiceOf(t, options, set)
}

func withServiceOf(t *testing.T, o hadooplab.Options, set map[string]string) (l *hadooplab.Lab, servicePort int) {
	t.Helper()
	jar, err := hadooplab.Maven(t.Context(), "spark-shuffle", []byte(serviceJar))
	if err != nil {
		t.Fatal(err)
	}
	port, release, err := ports.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	o.Site = maps.Clone(o.Site)
	if o.Site == nil {
		o.Site = map[string]string{}
	}
	maps.Copy(o.Site, map[string]string{
		"yarn.nodemanager.aux-services":                         "mapreduce_shuffle,spark_shuffle",
		"yarn.nodemanager.aux-services.spark_shuffle.class":     "org.apache.spark.network.yarn.YarnShuffleService",
		"yarn.nodemanager.aux-services.spark_shuffle.classpath": jar + "/*:" + home(t, serviceVersion) + "/jars/*",
		"yarn.nodemanager.recovery.enabled":                     "true",
		"yarn.nodemanager.recovery.supervised":                  "true",
		"heddle.nodemanager.java.heap-mb":                       "256",
		"heddle.nodemanager.java.patience-ms":                   "300000", // for overloaded machines
		"spark.shuffle.service.port":                            fmt.Sprint(port[0]),
	})
	maps.Copy(o.Site, set)
	return hadooplab.Start(t, o), port[0]
}

// serviceOptions are those of an application that uses the external shuffle.
func serviceOptions(port int, more ...string) []string {
	var out []string
	for _, option := range append([]string{
		"spark.shuffle.service.enabled=true", "spark.dynamicAllocation.enabled=true", "spark.dynamicAllocation.shuffleTracking.enabled=false",
		"spark.dynamicAllocation.initialExecutors=2", "spark.dynamicAllocation.executorIdleTimeout=2s", "spark.dynamicAllocation.maxExecutors=2",
		"spark.shuffle.service.port=" + fmt.Sprint(port), "spark.shuffle.io.retryWait=2s", "spark.shuffle.io.maxRetries=20",
	}, more...) {
		out = append(out, "--conf", option)
	}
	return out
}

// Spark's own external shuffle runs beside the node. Executors are released while their shuffle files are served. The JVM of the service is killed, then the
// node, then both while executors work: what they wrote is found again without a map that runs twice, and no executor is lost.
func TestExternalShuffle(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	if !onHeddle {
		t.Skip("a stock NodeManager has no JVM beside it")
	}
	for _, version := range servedVersions {
		t.Run(version, func(t *testing.T) { servesWhatDies(t, version) })
	}
}

func servesWhatDies(t *testing.T, version string) {
	l, port := withService(t, nil)
	folder := t.TempDir()
	c, err := l.BeginCommand(commandOf(t, l, version, "spark-submit", append(serviceOptions(port), program(t, servedShuffles), folder)...))
	if err != nil {
		t.Fatal(err)
	}
	c.EndWith(t)
	at := func(pattern string, n int) {
		t.Helper()
		await.Slowly(t, pattern, func() bool {
			found, err := filepath.Glob(filepath.Join(folder, pattern))
			if err != nil {
				t.Fatal(err)
			}
			if len(found) < n && c.Ended() {
				t.Fatalf("Spark has ended\n%s", c.Stderr())
			}
			return len(found) >= n
		})
	}
	over := func(step string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, step+".done"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	node := l.Daemon("nodemanager1")
	kill := func(pid int) {
		t.Helper()
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}

	await.Slowly(t, "the application is known", func() bool { return submitted.MatchString(c.Stderr()) || c.Ended() })
	if err := node.WaitLog(t.Context(), "_000003 transitioned from SCHEDULED to RUNNING"); err != nil { // the second executor
		t.Fatal(err)
	}
	at("released", 1)
	first := hadooplab.ServicesJVM(t, l, 0)
	kill(first)
	second := hadooplab.ServicesJVM(t, l, first)
	over("released")

	at("again", 1)
	node.Kill()
	if err := syscall.Kill(second, 0); err == nil {
		await.Slowly(t, "the JVM ends with its node", func() bool { return syscall.Kill(second, 0) != nil })
	}
	if err := node.Restart(); err != nil {
		t.Fatal(err)
	}
	third := hadooplab.ServicesJVM(t, l, second)
	over("again")

	at("busy[0-9]*", 2)
	kill(third)
	node.Kill()
	if err := node.Restart(); err != nil {
		t.Fatal(err)
	}
	hadooplab.ServicesJVM(t, l, third)
	over("busy")

	a := end(t, c, "")
	if a.Code != 0 || !strings.Contains(a.Stdout, "maps ran 40000 times") {
		t.Fatalf("exit code %d\n%s\n%s", a.Code, a.Stdout, a.Stderr)
	}
	for _, bad := range []string{"FetchFailed", "Executor for container", "Lost task"} {
		if strings.Contains(a.Stderr, bad) {
			t.Errorf("the driver says %q\n%s", bad, a.Stderr)
		}
	}
}

// pushedShuffles waits for executors, which are those that blocks are pushed to, writes a shuffle, and reads it before and after a step.
const pushedShuffles = `
import os, sys, time
from pyspark.sql import SparkSession
folder = sys.argv[1]
spark = SparkSession.builder.appName("pushed").getOrCreate()
sc = spark.sparkContext
while sc._jsc.sc().getExecutorMemoryStatus().size() < 3:
    time.sleep(0.2)
maps, rows = sc.accumulator(0), 40000
def pair(i):
    maps.add(1)
    return (i % 100, 1)
counts = sc.parallelize(range(rows), 8).map(pair).reduceByKey(lambda a, b: a + b, 4)
def read():
    got = dict(counts.collect())
    assert got == {k: rows // 100 for k in range(100)}, got
read()
open(os.path.join(folder, "read"), "w").close()
while not os.path.exists(os.path.join(folder, "read.done")):
    time.sleep(0.2)
read()
print("maps ran", maps.value, "times")
spark.stop()
`

// With push-based shuffle the service merges what map tasks push to it, and serves the merged files, also after its JVM was killed.
func TestPushBasedShuffle(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	if !onHeddle {
		t.Skip("a stock NodeManager has no JVM beside it")
	}
	for _, version := range servedVersions {
		t.Run(version, func(t *testing.T) { pushes(t, version) })
	}
}

func pushes(t *testing.T, version string) {
	l, port := withService(t, map[string]string{
		"spark.shuffle.push.server.mergedShuffleFileManagerImpl": "org.apache.spark.network.shuffle.RemoteBlockPushResolver",
	})
	folder := t.TempDir()
	args := append(serviceOptions(port, "spark.shuffle.push.enabled=true", "spark.serializer=org.apache.spark.serializer.KryoSerializer",
		"spark.shuffle.push.mergersMinStaticThreshold=1", "spark.dynamicAllocation.executorIdleTimeout=600s", "spark.shuffle.push.minShuffleSizeToWait=0"),
		program(t, pushedShuffles), folder)
	c, err := l.BeginCommand(commandOf(t, l, version, "spark-submit", args...))
	if err != nil {
		t.Fatal(err)
	}
	c.EndWith(t)
	await.Slowly(t, "the shuffle is read", func() bool {
		_, err := os.Stat(filepath.Join(folder, "read"))
		if err != nil && c.Ended() {
			t.Fatalf("Spark has ended\n%s", c.Stderr())
		}
		return err == nil
	})
	merged, err := filepath.Glob(filepath.Join(l.Dir(), "nodemanager1/local/usercache/*/appcache/*/merge_manager*/*/shuffleMerged_*.data"))
	if err != nil || len(merged) == 0 {
		t.Errorf("nothing was merged: %v", err)
	}
	size := int64(0)
	for _, file := range merged {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if size == 0 {
		t.Errorf("%d merged files are empty", len(merged))
	}
	first := hadooplab.ServicesJVM(t, l, 0)
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	hadooplab.ServicesJVM(t, l, first)
	if err := os.WriteFile(filepath.Join(folder, "read.done"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	a := end(t, c, "")
	if a.Code != 0 || !strings.Contains(a.Stdout, "maps ran 40000 times") {
		t.Fatalf("exit code %d\n%s\n%s", a.Code, a.Stdout, a.Stderr)
	}
	if strings.Contains(a.Stderr, "Lost task") {
		t.Errorf("the driver lost a task\n%s", a.Stderr)
	}
}
