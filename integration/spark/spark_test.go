package spark

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

var (
	// options are those of the lab that tests share.
	options  = hadooplab.Options{DataNodes: 1, ResourceManager: true, NodeManagers: 1}
	lab      *hadooplab.Shared
	onHeddle = hadooplab.OnHeddle()
)

func TestMain(m *testing.M) {
	os.Exit(hadooplab.Main(m, &options, &lab))
}

// home returns where a version of Spark is installed; the first time it is fetched from PyPI (400 MB).
func home(t *testing.T, version string) string {
	t.Helper()
	dir, err := hadooplab.Spark(t.Context(), version)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// app is a Spark application that has ended.
type app struct {
	hadooplab.Result
	id string
}

var submitted = regexp.MustCompile(`Submitted application (application_\d+_\d+)`)

// command is one of Spark's commands.
func command(t *testing.T, l *hadooplab.Lab, name string, args ...string) *exec.Cmd {
	t.Helper()
	return commandOf(t, l, hadooplab.SparkVersion, name, args...)
}

func commandOf(t *testing.T, l *hadooplab.Lab, version, name string, args ...string) *exec.Cmd {
	t.Helper()
	spark := home(t, version)
	cmd := exec.Command(filepath.Join(spark, "bin", name), append([]string{
		"--master", "yarn", "--driver-memory", "512m", "--executor-memory", "512m", "--num-executors", "1", "--executor-cores", "2",
		// as is right on one machine: 300 MB less to copy
		"--conf", "spark.yarn.jars=local:" + spark + "/jars/*",
		"--conf", "spark.yarn.am.memory=512m", "--conf", "spark.ui.showConsoleProgress=false", "--conf", "spark.ui.enabled=false",
		"--conf", "spark.log.structuredLogging.enabled=false",
	}, args...)...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "SPARK_HOME="+spark, "PYTHONPATH="+filepath.Dir(spark), "PYSPARK_PYTHON=python3", "HADOOP_CONF_DIR="+l.Conf(), "SPARK_LOCAL_IP=127.0.0.1")
	return cmd
}

// begin starts spark-submit and returns when the application is known, or spark-submit has ended.
func begin(t *testing.T, l *hadooplab.Lab, args ...string) (c *hadooplab.Command, id string) {
	t.Helper()
	c, err := l.BeginCommand(command(t, l, "spark-submit", args...))
	if err != nil {
		t.Fatal(err)
	}
	c.EndWith(t)
	await.Slowly(t, "the application is known", func() bool {
		if m := submitted.FindStringSubmatch(c.Stderr()); m != nil {
			id = m[1]
		}
		return id != "" || c.Ended()
	})
	return c, id
}

func end(t *testing.T, c *hadooplab.Command, id string) app {
	t.Helper()
	r, err := c.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if m := submitted.FindStringSubmatch(r.Stderr); m != nil {
		id = m[1]
	}
	return app{r, id}
}

func submit(t *testing.T, l *hadooplab.Lab, args ...string) app {
	t.Helper()
	c, id := begin(t, l, args...)
	return end(t, c, id)
}

// program writes a program and returns its path.
func program(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program.py")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const pi = `
import random, sys
from operator import add
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("pi").getOrCreate()
n = 100000
def inside(_):
    x, y = random.random(), random.random()
    return 1 if x * x + y * y <= 1 else 0
count = spark.sparkContext.parallelize(range(n), 4).map(inside).reduce(add)
print("Pi is roughly %.5f" % (4.0 * count / n))
spark.stop()
`

func TestClientMode(t *testing.T) {
	l := lab.Lab(t)
	a := submit(t, l, program(t, pi))
	if a.Code != 0 || !strings.Contains(a.Stdout, "Pi is roughly 3.1") {
		t.Errorf("exit code %d\n%s\n%s", a.Code, a.Stdout, a.Stderr)
	}
	if got := l.Status(t, a.id); !strings.Contains(got, "Final-State : SUCCEEDED") {
		t.Error(got)
	}
}

func TestClusterMode(t *testing.T) {
	l := lab.Lab(t)
	a := submit(t, l, "--deploy-mode", "cluster", program(t, pi))
	if a.Code != 0 || !strings.Contains(a.Stderr, "final status: SUCCEEDED") {
		t.Errorf("exit code %d\n%s", a.Code, a.Stderr)
	}
	if got := l.Status(t, a.id); !strings.Contains(got, "Final-State : SUCCEEDED") {
		t.Error(got)
	}
	await.Slowly(t, "the driver's output is aggregated", func() bool {
		r, err := l.Try(t.Context(), "", "yarn", "logs", "-applicationId", a.id, "-log_files", "stdout")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(r.Stdout, "Pi is roughly 3.1")
	})
}

const fails = `
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("fails").getOrCreate()
raise SystemExit(3)
`

func TestFailureInClusterMode(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	l := lab.Lab(t)
	a := submit(t, l, "--deploy-mode", "cluster", "--conf", "spark.yarn.maxAppAttempts=1", program(t, fails))
	if a.Code != 1 || !strings.Contains(a.Stderr, "final status: FAILED") {
		t.Errorf("exit code %d\n%s", a.Code, a.Stderr)
	}
	if got := l.Status(t, a.id); !strings.Contains(got, "Final-State : FAILED") || !strings.Contains(got, "User application exited with status 3") {
		t.Error(got)
	}
}

// shuffles reads and writes HDFS, sorts and joins, with executors that come and go, one of which is lost on the way.
const shuffles = `
import os, signal, sys
from pyspark.sql import SparkSession, functions as f
spark = SparkSession.builder.appName("shuffles").getOrCreate()
base = sys.argv[1]
rows = spark.range(0, 20000, 1, 8).withColumn("k", f.col("id") % 10)
rows.write.mode("overwrite").parquet(base + "/rows")
back = spark.read.parquet(base + "/rows")
sums = {r["k"]: r["s"] for r in back.groupBy("k").agg(f.sum("id").alias("s")).collect()}
print("sums are right:", sums == {k: sum(range(k, 20000, 10)) for k in range(10)})
def die(it):
    once = "/tmp/" + spark_app + ".died"
    try:
        os.close(os.open(once, os.O_CREAT | os.O_EXCL))
        os.kill(executor(), signal.SIGKILL)
    except FileExistsError:
        pass
    return it
def executor():
    pid = os.getpid()
    while b"CoarseGrained" not in open("/proc/%d/cmdline" % pid, "rb").read() and b"YarnCoarse" not in open("/proc/%d/cmdline" % pid, "rb").read():
        pid = int(open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[1])
    return pid
spark_app = spark.sparkContext.applicationId
print("rows after a loss:", spark.sparkContext.parallelize(range(1000), 4).mapPartitions(die).count())
os.remove("/tmp/" + spark_app + ".died")
joined = back.join(back.withColumnRenamed("id", "other"), "k").count()
print("joined:", joined)
spark.stop()
`

func TestDynamicAllocationAndALostExecutor(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	l := lab.Lab(t)
	a := submit(t, l, "--conf", "spark.dynamicAllocation.enabled=true", "--conf", "spark.dynamicAllocation.shuffleTracking.enabled=true",
		"--conf", "spark.dynamicAllocation.maxExecutors=2", "--conf", "spark.dynamicAllocation.initialExecutors=1",
		"--conf", "spark.sql.shuffle.partitions=4", program(t, shuffles), l.URI()+"/spark/"+filepath.Base(t.TempDir()))
	for _, want := range []string{"sums are right: True", "rows after a loss: 1000", "joined: 40000000"} {
		if !strings.Contains(a.Stdout, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if a.Code != 0 || t.Failed() {
		t.Errorf("exit code %d\n%s\n%s", a.Code, a.Stdout, a.Stderr)
	}
	if !strings.Contains(a.Stderr, "ExecutorLostFailure") && !strings.Contains(a.Stderr, "Lost executor") {
		t.Errorf("no executor was lost\n%s", a.Stderr)
	}
}

const sleeps = `
import time
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("sleeps").getOrCreate()
spark.sparkContext.parallelize(range(2), 2).foreach(lambda _: time.sleep(600))
`

func TestKill(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	l := lab.Lab(t)
	c, id := begin(t, l, "--deploy-mode", "cluster", program(t, sleeps))
	await.Slowly(t, "it runs", func() bool {
		return strings.Contains(c.Stderr(), "state: RUNNING")
	})
	if _, err := l.Run(t.Context(), "yarn", "application", "-kill", id); err != nil {
		t.Fatal(err)
	}
	a := end(t, c, id)
	if a.Code != 1 || !strings.Contains(a.Stderr, "killed") {
		t.Errorf("exit code %d\n%s", a.Code, a.Stderr)
	}
	if got := l.Status(t, id); !strings.Contains(got, "Final-State : KILLED") {
		t.Error(got)
	}
}
