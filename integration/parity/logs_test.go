package parity

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// Where each format of logs has a folder of its own, yarn logs and the history server missed what Heddle's nodes had collected, and heddle logs what
// YARN's nodes had.
func TestLogsInAFolderOfTheirFormatAreFound(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	heddle, remove, err := hadooplab.BuildHeddle()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	l := hadooplab.Start(t, hadooplab.Options{DataNodes: 1, ResourceManager: true, NodeManagers: 1, Heddle: heddle, Site: map[string]string{
		"yarn.log-aggregation.file-formats":                    "IFile,TFile",
		"yarn.log-aggregation.file-controller.IFile.class":     "org.apache.hadoop.yarn.logaggregation.filecontroller.ifile.LogAggregationIndexedFileController",
		"yarn.log-aggregation.IFile.remote-app-log-dir":        "/app-logs-ifile",
		"yarn.log-aggregation.IFile.remote-app-log-dir-suffix": "ilogs",
	}})
	examples, err := l.Jar("hadoop-mapreduce-examples")
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Try(t.Context(), "", "hadoop", "jar", examples, "pi", "2", "10")
	if err != nil || r.Code != 0 {
		t.Fatalf("%v\n%s", err, r.Stderr)
	}
	id := regexp.MustCompile(`application_\d+_\d+`).FindString(r.Stderr)
	commands := map[string]func() string{
		"yarn logs": func() string {
			out, _ := l.Try(t.Context(), "", "yarn", "logs", "-applicationId", id, "-log_files", "syslog")
			return out.Stdout
		},
		"heddle logs": func() string {
			cmd := exec.CommandContext(t.Context(), heddle, "logs", "-applicationId", id, "-log_files", "syslog")
			cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+l.Conf())
			out, _ := cmd.CombinedOutput()
			return string(out)
		},
	}
	for name, print := range commands {
		var out string
		await.Slowly(t, name+" finds the logs of the master, two maps and a reduce", func() bool {
			out = print()
			return strings.Count("\n"+out, "\nLogType:syslog\n") == 4
		})
	}
	if out, err := l.Run(t.Context(), "hdfs", "dfs", "-ls", "-R", "/app-logs-ifile"); err != nil || !strings.Contains(out, "-ilogs/") {
		t.Errorf("%v\n%s", err, out)
	}
}
