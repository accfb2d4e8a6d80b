package hungdisk

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"heddle/internal/needs"
)

// megabytes is the size of a disk of its own (Freezable), whose file takes what is written to it.
const megabytes = 512

// sweep waits until the test ends, however it does. Processes that used the disk may still be about to end.
const sweep = `cat >/dev/null
fsfreeze -u "$1" 2>/dev/null
for try in $(seq 100); do umount "$1" 2>/dev/null && exit 0; sleep 0.1; done
umount -l "$1"`

// Freezable mounts a disk of its own on dir, which exists: a file with ext4. Only root can. While it is frozen every write waits, and who waits can't be
// killed. It is thawed and unmounted when the test ends, also when it is killed.
func Freezable(t testing.TB, dir string) (freeze, thaw func()) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "disk")
	run := func(program string, args ...string) {
		t.Helper()
		if out, err := exec.Command(needs.Program(t, program), args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v: %s", program, args, err, out)
		}
	}
	run("truncate", "-s", fmt.Sprint(megabytes<<20), file)
	run("mkfs.ext4", "-q", file)
	watchdog := exec.Command("/bin/sh", "-c", sweep, "sh", dir)
	watchdog.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	watchdog.Dir = "/"
	until, err := watchdog.StdinPipe()
	if err == nil {
		run("mount", "-o", "loop", file, dir)
		err = watchdog.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		until.Close()
		if err := watchdog.Wait(); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	freeze = func() { run("fsfreeze", "-f", dir) }
	return freeze, sync.OnceFunc(func() { run("fsfreeze", "-u", dir) })
}
