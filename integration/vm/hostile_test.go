package vm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/hostile"
)

// Local users and containers do to a NodeManager of root's what took all memory of it, and of each that came after it. See the test in nm.
func TestUsersEndNoNodeManager(t *testing.T) {
	hadooplab.SkipUnlessFull(t)                     // it runs NodeManagers in a virtual machine, which takes some minutes
	dir, err := os.MkdirTemp("/var/tmp", "hostile") // the machine has a /tmp of its own
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	tests := filepath.Join(dir, "nm.test")
	built(t, "build", "-o", filepath.Join(dir, "heddle"), "heddle/cmd/heddle")
	built(t, "test", "-c", "-o", tests, "heddle/nm")
	hostile.Build(t, dir, "endless")
	hostile.Build(t, dir, "thief")
	m := boot(t, Options{Memory: 1536})
	run(t, m, `cd /sys/fs/cgroup && for c in cpu memory pids io cpuset; do echo +$c > cgroup.subtree_control; done`)
	out, err := m.Run(t.Context(), "cd /tmp && NM_TEST_MACHINE="+dir+" "+tests+" -test.v -test.timeout 15m -test.run TestOnAMachineOfItsOwn")
	if err != nil || !strings.HasSuffix(out, "PASS\n") || strings.Count(out, "--- PASS") != 3 {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Log(out)
}
