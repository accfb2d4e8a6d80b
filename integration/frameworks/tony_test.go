package frameworks

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"heddle/integration/hadooplab"
)

//go:embed testdata/tony.xml
var tonyPOM []byte

// TestTonY runs the tasks of a TensorFlow job, without TensorFlow: each learns where the others listen. A chief that fails has its job fail.
func TestTonY(t *testing.T) {
	l := lab.Lab(t)
	jars, err := hadooplab.Maven(t.Context(), "tony", tonyPOM)
	if err != nil {
		t.Fatal("fetching TonY: ", err)
	}
	dir := t.TempDir()
	classPath := l.Conf() + ":" + filepath.Join(jars, "*")
	conf := filepath.Join(dir, "job.xml")
	err = hadooplab.WriteSite(conf, map[string]string{
		"tony.worker.instances": "2", "tony.worker.memory": "512m", "tony.ps.instances": "1", "tony.ps.memory": "512m", "tony.am.memory": "768m",
		"tony.application.security.enabled": "false", "tony.application.hadoop.classpath": classPath, "tony.history.location": "/tony",
	})
	if err != nil {
		t.Fatal(err)
	}
	run := func(task string) hadooplab.Result {
		t.Helper()
		script := filepath.Join(dir, "task.sh")
		if err := os.WriteFile(script, []byte(task), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("java", "-cp", classPath, "com.linkedin.tony.TonyClient", "-conf_file", conf, "-executes", "bash "+script)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HADOOP_CONF_DIR="+l.Conf())
		r, err := begin(t, l, cmd).Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}

	r := run(`printf %s "$TF_CONFIG" >"` + dir + `/$JOB_NAME.$TASK_INDEX"`)
	if r.Code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", r.Code, r.Stdout, r.Stderr)
	}
	contains(t, r.Stdout+r.Stderr, "SUCCEEDED, ps, 0", "SUCCEEDED, worker, 0", "SUCCEEDED, worker, 1", "YarnState=FINISHED, DSFinalStatus=SUCCEEDED")
	for _, task := range []string{"ps.0", "worker.0", "worker.1"} {
		text, err := os.ReadFile(filepath.Join(dir, task))
		if err != nil {
			t.Fatal(err)
		}
		var config struct {
			Cluster map[string][]string
			Task    struct {
				Type  string
				Index int
			}
		}
		if err := json.Unmarshal(text, &config); err != nil {
			t.Fatalf("%s: %v: %s", task, err, text)
		}
		if got := fmt.Sprintf("%s.%d", config.Task.Type, config.Task.Index); got != task || len(config.Cluster["ps"]) != 1 || len(config.Cluster["worker"]) != 2 {
			t.Errorf("%s is told %s", task, text)
		}
	}

	r = run(`[ "$JOB_NAME.$TASK_INDEX" != worker.0 ]`)
	contains(t, r.Stdout+r.Stderr, "DSFinalStatus=FAILED")
	if r.Code == 0 {
		t.Error("a job whose chief failed succeeds")
	}
}
