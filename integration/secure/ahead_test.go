package secure

import (
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// A node reads the input of waiting maps ahead from an HDFS with Kerberos that encrypts its data, with the tokens of the user's own application: what only the user may
// read, too.
func TestReadingAheadOnSecuredHDFS(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	_, l, run := clusterOnHDFS(t, map[string]string{
		"dfs.encrypt.data.transfer":                "true",
		"heddle.nodemanager.warming.enabled":       "true",
		"yarn.resourcemanager.connect.max-wait.ms": "150000",
		"yarn.nodemanager.env-whitelist":           "PATH,JAVA_HOME,JAVA_TOOL_OPTIONS,HADOOP_CONF_DIR",
	})
	text := filepath.Join(t.TempDir(), "text")
	write(t, text, strings.Repeat("what only alice may read\n", 1000))
	run("hdfs", "dfs", "-put", text, "/user/alice/text")
	run("hdfs", "dfs", "-chmod", "600", "/user/alice/text")

	examples, err := l.Jar("hadoop-mapreduce-examples")
	if err != nil {
		t.Fatal(err)
	}
	job, err := l.Begin("", "hadoop", "jar", examples, "wordcount", "/user/alice/text", "/user/alice/out")
	if err != nil {
		t.Fatal(err)
	}
	job.EndWith(t)
	await.Slowly(t, "the job's input is read ahead", func() bool { return hadooplab.ReadAhead(t, l) > 0 })
}
