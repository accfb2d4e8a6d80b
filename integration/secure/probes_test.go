package secure

import (
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// Short tasks that come by probes read a secured HDFS: nodes stage their inputs, they have their user's token, and their logs are aggregated.
func TestShortTasksOnSecuredHDFS(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	_, l, run := clusterOnHDFS(t, map[string]string{
		"heddle.probes.memory-mb": "512", "heddle.probes.vcores": "1",
		"heddle.nodemanager.staging.enabled": "true", "heddle.nodemanager.staging.size-mb": "16",
		"yarn.nodemanager.env-whitelist": "PATH,JAVA_HOME,JAVA_TOOL_OPTIONS,HADOOP_CONF_DIR",
	})
	text := filepath.Join(t.TempDir(), "text")
	write(t, text, "what only alice may read\n")
	var names strings.Builder
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		run("hdfs", "dfs", "-put", text, "/user/alice/"+name)
		run("hdfs", "dfs", "-chmod", "600", "/user/alice/"+name)
		names.WriteString("/user/alice/" + name + "\n")
	}
	list := text + "-names"
	write(t, list, names.String())
	out, err := command(t, l, "xargs", "-a", list, "--probes", "--stage", "-P6", "-n1", "sh", "-c",
		`sleep 2; if [ -n "$HEDDLE_STAGED_INPUT" ]; then echo "staged: $(cat "$HEDDLE_STAGED_INPUT")"; else echo "not staged"; fi; grep -ac HDFS_DELEGATION_TOKEN "$HADOOP_TOKEN_FILE_LOCATION"`)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if strings.Count(out, "staged: what only alice may read") == 0 || strings.Count(out, "\n1\n") != 6 {
		t.Errorf("the tasks say\n%s", out)
	}
	await.Slowly(t, "the executor's log is on HDFS", func() bool {
		list, err := l.Run(t.Context(), "hdfs", "dfs", "-ls", "-R", "/app-logs/alice")
		return err == nil && strings.Contains(list, "/localhost_") && strings.Contains(list, " alice ")
	})
}
