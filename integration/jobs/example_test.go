package jobs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

// The example of an application builds as a module of its own, and the same program runs on Heddle and on a stock Hadoop: a command runs
// as often as it is to, and again where it has failed.
func TestExampleRunsAnywhere(t *testing.T) {
	t.Parallel() // most of it waits
	program := filepath.Join(t.TempDir(), "repeat")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = "../../docs/examples/repeat"
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	repeat := func(t *testing.T, conf string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+conf)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	check := func(t *testing.T, conf string) {
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		said := filepath.Join(dir, "said")
		command := "echo \"it's $CONTAINER_ID\" >> " + said + "; mkdir " + dir + "/failed || exit 0; exit 3"
		if out, err := repeat(t, conf, "-n", "3", command); err != nil || !strings.HasPrefix(out, "application_") {
			t.Fatalf("%v: %s", err, out)
		}
		b, err := os.ReadFile(said)
		if err != nil {
			t.Fatal(err)
		}
		if got := lines(string(b)); len(got) != 4 || !strings.HasPrefix(got[0], "it's container_") {
			t.Errorf("containers said %q, instead of three that succeeded and one that failed", got)
		}
		if out, err := repeat(t, conf, "-tries", "2", "exit 7"); err == nil || !strings.Contains(out, "2 failures") {
			t.Errorf("a command that fails: %v, %s", err, out)
		}
	}
	t.Run("Heddle", func(t *testing.T) { check(t, startCluster(t, 1, 1, nil).conf) })
	t.Run("Hadoop", func(t *testing.T) {
		check(t, hadooplab.Start(t, hadooplab.Options{ResourceManager: true, NodeManagers: 1}).Conf())
	})
}
