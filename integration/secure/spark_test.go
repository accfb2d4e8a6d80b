package secure

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// outlives works on HDFS for longer than a delegation token lives.
const outlives = `
import sys, time
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("outlives").getOrCreate()
sc = spark.sparkContext
until = time.time() + 100
while True:
    n = sc.textFile("/user/alice/in").count()
    if time.time() > until:
        break
    time.sleep(10)
sc.parallelize([n], 1).saveAsTextFile(sys.argv[1])
spark.stop()
`

// streams writes a stream to HDFS for longer than a delegation token lives, and reads what it has written.
const streams = `
import sys, time
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("streams").getOrCreate()
out = sys.argv[1]
query = spark.readStream.format("rate").option("rowsPerSecond", 5).load().selectExpr("cast(value as string)") \
    .writeStream.format("text").option("path", out).option("checkpointLocation", out + "-checkpoints").trigger(processingTime="10 seconds").start()
query.awaitTermination(210)
if query.exception() is not None or not query.isActive:
    raise Exception(query.exception())
query.stop()
n = spark.read.text(out).distinct().count()
spark.sparkContext.parallelize(["many" if n > 500 else str(n)], 1).saveAsTextFile(out + "-number")
spark.stop()
`

// sparkSubmit returns a command that runs a program in small processes.
func sparkSubmit(t *testing.T, l *hadooplab.Lab, program, output string, options ...string) *exec.Cmd {
	t.Helper()
	home, err := hadooplab.Spark(t.Context(), hadooplab.SparkVersion)
	if err != nil {
		t.Fatal(err)
	}
	python := filepath.Dir(home)
	args := append([]string{
		"--master", "yarn", "--driver-memory", "512m", "--executor-memory", "512m", "--num-executors", "1", "--conf", "spark.yarn.jars=local:" + home + "/jars/*", "--conf", "spark.yarn.am.memory=512m",
		"--conf", "spark.ui.enabled=false", "--conf", "spark.log.structuredLogging.enabled=false", "--conf", "spark.sql.shuffle.partitions=1",
		"--conf", "spark.yarn.appMasterEnv.PYTHONPATH=" + python, "--conf", "spark.executorEnv.PYTHONPATH=" + python, "--conf", "spark.yarn.appMasterEnv.SPARK_HOME=" + home,
	}, options...)
	cmd := exec.CommandContext(t.Context(), filepath.Join(home, "bin", "spark-submit"), append(args, program, output)...)
	cmd.Env = append(os.Environ(), "SPARK_HOME="+home, "PYTHONPATH="+python, "PYSPARK_PYTHON=python3", "HADOOP_CONF_DIR="+l.Conf(), "SPARK_LOCAL_IP=127.0.0.1")
	return cmd
}

// Streams of Spark's with --keytab, whose driver is at the client and in the cluster, outlive delegation tokens.
func TestSparkStreamsWithKeytab(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	more := outliving()
	more["dfs.namenode.delegation.token.renew-interval"], more["dfs.namenode.delegation.token.max-lifetime"] = "90000", "180000" // a driver starts slowly
	r, l, run := clusterOnHDFS(t, more)
	dir := t.TempDir()
	program := filepath.Join(dir, "streams.py")
	write(t, program, streams)
	t.Setenv("KRB5CCNAME", "FILE:"+filepath.Join(dir, "none"))
	var all sync.WaitGroup
	for _, mode := range []string{"client", "cluster"} {
		cmd := sparkSubmit(t, l, program, "/user/alice/"+mode, "--deploy-mode", mode, "--principal", "alice@"+r.Realm, "--keytab", r.users)
		all.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", mode, err, out)
			}
		})
	}
	all.Wait()
	t.Setenv("KRB5CCNAME", "FILE:"+r.Cache())
	for _, mode := range []string{"client", "cluster"} {
		if got := run("hdfs", "dfs", "-cat", "/user/alice/"+mode+"-number/part-*"); strings.TrimSpace(got) != "many" {
			t.Errorf("%s: %q rows", mode, got)
		}
	}
}

// byTicket counts lines of HDFS, and says with whose help: the driver's own ticket, or tokens alone.
const byTicket = `
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("by ticket").getOrCreate()
sc = spark.sparkContext
n = sc.textFile("/user/alice/in", 2).map(lambda line: (len(line), 1)).reduceByKey(lambda a, b: a + b).collect()
login = sc._jvm.org.apache.hadoop.security.UserGroupInformation.getLoginUser()
kind = "ticket" if login.hasKerberosCredentials() else "tokens"
print("counted by", kind)
sc.parallelize(["%s %s %s" % (sc.sparkUser(), kind, n)], 1).saveAsTextFile(sys.argv[1])
spark.stop()
`

// Spark with a ticket of kinit's and no keytab, its driver at the client and in the cluster, where it has tokens alone. Then its logs are there. Without a ticket nothing is
// submitted.
func TestSparkByTicket(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	_, l, run := clusterOnHDFS(t, map[string]string{"yarn.nodemanager.env-whitelist": "PATH,JAVA_HOME,JAVA_TOOL_OPTIONS,HADOOP_CONF_DIR", "yarn.resourcemanager.connect.max-wait.ms": "150000"})
	text, program := filepath.Join(t.TempDir(), "text"), filepath.Join(t.TempDir(), "byticket.py")
	write(t, text, strings.Repeat("a line\n", 1000))
	write(t, program, byTicket)
	run("hdfs", "dfs", "-put", text, "/user/alice/in")
	for mode, want := range map[string]string{"client": "ticket", "cluster": "tokens"} {
		out, err := sparkSubmit(t, l, program, "/user/alice/"+mode, "--deploy-mode", mode).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", mode, err, out)
		}
		if got := run("hdfs", "dfs", "-cat", "/user/alice/"+mode+"/part-*"); strings.TrimSpace(got) != "alice "+want+" [(6, 1000)]" {
			t.Errorf("%s: %q", mode, got)
		}
		if mode == "cluster" {
			await.Slowly(t, "the driver's log is there", func() bool {
				logs, err := command(t, l, "logs", "-applicationId", submitted.FindString(string(out)))
				return err == nil && strings.Contains(logs, "counted by tokens")
			})
		}
	}
	t.Setenv("KRB5CCNAME", "FILE:"+filepath.Join(t.TempDir(), "none"))
	for _, mode := range []string{"client", "cluster"} {
		cmd := sparkSubmit(t, l, program, "/user/alice/none", "--deploy-mode", mode, "--conf", "spark.hadoop.yarn.resourcemanager.connect.max-wait.ms=5000")
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "Client cannot authenticate via:[TOKEN, KERBEROS]") {
			t.Errorf("%s without a ticket: %v\n%s", mode, err, out)
		}
	}
}

// Spark with --principal and --keytab, and no tickets of kinit, in client mode: its driver logs in by itself, and the job works on HDFS for longer than any of its
// delegation tokens lives.
func TestSparkWithKeytab(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	r, l, run := clusterOnHDFS(t, map[string]string{
		"dfs.namenode.delegation.token.renew-interval": "40000",
		"dfs.namenode.delegation.token.max-lifetime":   "60000",
		"yarn.resourcemanager.connect.max-wait.ms":     "150000",
		"yarn.nodemanager.env-whitelist":               "PATH,JAVA_HOME,JAVA_TOOL_OPTIONS,HADOOP_CONF_DIR",
	})
	text, program := filepath.Join(t.TempDir(), "text"), filepath.Join(t.TempDir(), "outlives.py")
	write(t, text, strings.Repeat("a line\n", 1000))
	write(t, program, outlives)
	run("hdfs", "dfs", "-put", text, "/user/alice/in")
	t.Setenv("KRB5CCNAME", "FILE:"+filepath.Join(t.TempDir(), "none"))
	cmd := sparkSubmit(t, l, program, "/user/alice/out", "--principal", "alice@"+r.Realm, "--keytab", r.users)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("KRB5CCNAME", "FILE:"+r.Cache())
	if got := run("hdfs", "dfs", "-cat", "/user/alice/out/part-*"); strings.TrimSpace(got) != "1000" {
		t.Errorf("the output is %q", got)
	}
}
