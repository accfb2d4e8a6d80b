package vm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

// built builds a program without C's library into a folder.
func built(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

// On a machine with nothing but cgroups v2 a container of a real NodeManager and ResourceManager goes down the ladder and up, the machine runs out of
// memory, its clock steps while the container is suspended, and the power is cut while the container is suspended. After that nothing is left of it, on the machine and on record.
func TestLadderV2(t *testing.T) {
	hadooplab.SkipUnlessFull(t)                    // it runs a cluster in a virtual machine, which takes many minutes
	dir, err := os.MkdirTemp("/var/tmp", "ladder") // the machine has a /tmp of its own
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	heddle, tests := filepath.Join(dir, "heddle"), filepath.Join(dir, "jobs.test")
	built(t, "build", "-o", heddle, "heddle/cmd/heddle")
	built(t, "test", "-c", "-o", tests, "heddle/integration/jobs")
	o := Options{Memory: 2048, Disks: []Disk{{Path: filepath.Join(dir, "disk"), Size: 2 << 30}}}
	m := boot(t, o)
	run(t, m, `cd /sys/fs/cgroup && for c in cpu memory pids io cpuset; do echo +$c > cgroup.subtree_control; done`)
	run(t, m, "mkfs.ext4 -q /dev/vda && mount /dev/vda /disk && mkdir /disk/home")
	run(t, m, "cd /disk; TMPDIR=/disk HEDDLE_BINARY="+heddle+" JOBS_TEST_MACHINE=/disk/home "+tests+
		" -test.v -test.timeout 60m -test.run 'TestOnAMachineOfItsOwn' >/disk/said 2>&1 & echo $! >/disk/pid")
	out, err := m.Run(t.Context(), `while ! [ -e /disk/home/suspended ]; do sleep 1; kill -0 $(cat /disk/pid) || { cat /disk/said; exit 1; }; done; sync; cat /disk/home/suspended /disk/said`)
	if err != nil || !strings.HasPrefix(out, "container_") {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Log(out)
	m.PowerCut()
	m = boot(t, o)
	run(t, m, `cd /sys/fs/cgroup && for c in cpu memory pids io cpuset; do echo +$c > cgroup.subtree_control; done; mount /dev/vda /disk`)
	out, err = m.Run(t.Context(), `. /disk/home/again
		for i in $(seq 300); do
			sleep 2
			`+heddle+` node --conf $(cat /disk/home/conf) -list 2>/dev/null | grep -q RUNNING || continue
			said=$(`+heddle+` container --conf $(cat /disk/home/conf) -listSuspended 2>&1)
			echo "$said" | grep -q 'suspended containers :0' && break
		done
		echo "$said"
		find /sys/fs/cgroup -name 'container_*'
		ls -d $(dirname $(cat /disk/home/conf))/nm1/local/usercache/*/appcache/*/container_* 2>/dev/null
		true`)
	if err != nil || !strings.HasPrefix(out, "Total number of suspended containers :0\n") || strings.Contains(out, "container_") {
		t.Errorf("after a power cut: %v\n%s", err, out)
	}
}
