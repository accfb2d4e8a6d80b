package secure

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
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
	home, err := hadooplab.Spark(t.Context(), hadooplab.SparkVersion)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KRB5CCNAME", "FILE:"+filepath.Join(t.TempDir(), "none"))
	cmd := exec.CommandContext(t.Context(), filepath.Join(home, "bin", "spark-submit"), "--master", "yarn", "--principal", "alice@"+r.Realm, "--keytab", r.users,
		"--driver-memory", "512m", "--executor-memory", "512m", "--num-executors", "1", "--conf", "spark.yarn.jars=local:"+home+"/jars/*", "--conf", "spark.yarn.am.memory=512m",
		"--conf", "spark.ui.enabled=false", "--conf", "spark.log.structuredLogging.enabled=false", program, "/user/alice/out")
	cmd.Env = append(os.Environ(), "SPARK_HOME="+home, "PYTHONPATH="+filepath.Dir(home), "PYSPARK_PYTHON=python3", "HADOOP_CONF_DIR="+l.Conf(), "SPARK_LOCAL_IP=127.0.0.1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("KRB5CCNAME", "FILE:"+r.Cache())
	if got := run("hdfs", "dfs", "-cat", "/user/alice/out/part-*"); strings.TrimSpace(got) != "1000" {
		t.Errorf("the output is %q", got)
	}
}
