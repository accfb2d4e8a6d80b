package vm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

// The tests of groups, and of suspended containers, pass on a machine that has nothing but cgroups v2, with all controllers, and swap. Those
// of the ladder, which look at 100 MB of random memory again and again, take too long where processors are emulated.
func TestCgroupsV2(t *testing.T) {
	hadooplab.SkipUnlessFull(t)                    // it runs the tests of cgroups in a virtual machine, which takes a minute or two
	dir, err := os.MkdirTemp("/var/tmp", "cgroup") // the machine has a /tmp of its own
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	m := boot(t, Options{Memory: 2048, Disks: []Disk{{Path: filepath.Join(dir, "disk"), Size: 2 << 30}}})
	run(t, m, `cd /sys/fs/cgroup && for c in cpu memory pids io cpuset; do echo +$c > cgroup.subtree_control; done`)
	run(t, m, "mkfs.ext4 -q /dev/vda && mount /dev/vda /disk") // the kernel doesn't swap to files in memory
	for _, x := range []struct {
		source, tests string
		least         int    // tests that pass
		limit         string // beyond which they stand still, even beside much other work, and say where
	}{
		{"nm/cgroup", ".", 10, "15m"},
		{"nm/container", "Suspend|Order|Cycled|Resume|Lent|Recovery|Outside", 10, "15m"},
	} {
		t.Run(x.source, func(t *testing.T) {
			program := filepath.Join(dir, filepath.Base(x.source)+".test")
			build := exec.Command("go", "test", "-c", "-o", program, "heddle/"+x.source)
			build.Env = append(os.Environ(), "CGO_ENABLED=0")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", build, err, out)
			}
			source, err := filepath.Abs("../../" + x.source)
			if err != nil {
				t.Fatal(err)
			}
			data := filepath.Join(dir, x.source)
			if err := os.CopyFS(data, os.DirFS(source)); err != nil {
				t.Fatal(err)
			}
			out, err := m.Run(t.Context(), "cd "+data+" && HEDDLE_TEST_FULL=1 TMPDIR=/disk "+program+" -test.v -test.timeout "+x.limit+" -test.run '"+x.tests+"' -test.skip 'Ladder|SwapIsFull|DiskOfSwap'")
			if err != nil || !strings.HasSuffix(out, "PASS\n") {
				t.Fatalf("%v\n%s", err, out)
			}
			if strings.Contains(out, "can't swap") {
				t.Errorf("it has no swap:\n%s", out)
			}
			if n := strings.Count(out, "--- PASS"); n < x.least {
				t.Errorf("only %d tests have passed:\n%s", n, out)
			}
			t.Log(out)
		})
	}
}
