package vm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

// On a machine of their own, which has no other daemons: root's daemons refuse folders that other users can move and change nothing there, and leave the
// files of containers as YARN does. Two users of one primary group reach nothing of each other's containers. See the tests in integration/modes.
func TestRealUsersOfANode(t *testing.T) {
	hadooplab.SkipUnlessFull(t)                   // it runs clusters in a virtual machine, which takes some minutes
	dir, err := os.MkdirTemp("/var/tmp", "users") // the machine has a /tmp of its own
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	heddle, tests := filepath.Join(dir, "heddle"), filepath.Join(dir, "modes.test")
	built(t, "build", "-o", heddle, "heddle/cmd/heddle")
	built(t, "test", "-c", "-o", tests, "heddle/integration/modes")
	if err := os.CopyFS(filepath.Join(dir, "testdata"), os.DirFS("../modes/testdata")); err != nil {
		t.Fatal(err)
	}
	m := boot(t, Options{Memory: 2048})
	run(t, m, `cd /sys/fs/cgroup && for c in cpu memory pids io cpuset; do echo +$c > cgroup.subtree_control; done`)
	run(t, m, "useradd -N -M -g users alice && useradd -N -M -g users bob")
	out, err := m.Run(t.Context(), "cd "+dir+" && HEDDLE_BINARY="+heddle+" MODES_TEST_USERS='alice bob' "+tests+" -test.v -test.timeout 20m")
	if err != nil || !strings.HasSuffix(out, "PASS\n") || strings.Contains(out, "--- SKIP") || strings.Count(out, "\n--- PASS") != 3 {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Log(out)
}
