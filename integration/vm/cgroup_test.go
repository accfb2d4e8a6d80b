package vm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The tests of nm/cgroup pass on a machine that has nothing but cgroups v2, with all controllers.
func TestCgroupsV2(t *testing.T) {
	if os.Getenv("HEDDLE_TEST_FULL") == "" {
		t.Skip("HEDDLE_TEST_FULL=1 runs the tests of cgroups in a virtual machine, which takes a minute or two")
	}
	dir, err := os.MkdirTemp("/var/tmp", "cgroup") // the machine has a /tmp of its own
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "cgroup.test")
	build := exec.Command("go", "test", "-c", "-o", program, "heddle/nm/cgroup")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	source, err := filepath.Abs("../../nm/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "src")
	if err := os.CopyFS(data, os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	m := boot(t, Options{Memory: 2048})
	run(t, m, `cd /sys/fs/cgroup && for c in cpu memory pids io cpuset; do echo +$c > cgroup.subtree_control; done`)
	out, err := m.Run(t.Context(), "cd "+data+" && "+program+" -test.v -test.timeout 5m")
	if err != nil || !strings.HasSuffix(out, "PASS\n") {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := strings.Count(out, "--- PASS"); n < 10 {
		t.Errorf("only %d tests have passed:\n%s", n, out)
	}
	t.Log(out)
}
