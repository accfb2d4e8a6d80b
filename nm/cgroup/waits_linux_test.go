package cgroup

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"heddle/internal/await"
)

// waitVariable has the test's own program wait in a way that this names.
const waitVariable = "CGROUP_TEST_WAIT"

// threads is how many a process has that waits with threads.
const threads = 500

// A process is in the state of its first thread, so that is to wait. Go's main begins there, and on a busy machine goes on on another one.
func init() {
	if os.Getenv(waitVariable) != "" {
		runtime.LockOSThread()
	}
}

// wait doesn't return.
func wait(how string) {
	if how == "traced" { // its child has stopped, and waits for it
		cmd := exec.Command("/bin/sleep", "600")
		cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		for {
			_ = unix.Pause()
		}
	}
	if how == "threads" {
		for range threads {
			go func() {
				runtime.LockOSThread()
				_ = unix.Pause()
			}()
		}
		_ = unix.Pause()
	}
	pid, _, _ := syscall.RawSyscall6(syscall.SYS_CLONE, syscall.CLONE_VFORK|uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	for pid == 0 { // else the kernel returns when the child has ended
		syscall.RawSyscall(syscall.SYS_PAUSE, 0, 0, 0)
	}
}

// Processes that wait for what their child does after vfork, or for who traces them, also from outside the group, stand still and end with their group. A lock
// on a file is kept while they stand still, and is free when they have ended.
func TestFreezeAndKillOfWhoWaits(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	onEach(t, func(t *testing.T, d Handler) {
		if d.Kind() == None && os.Getenv("HEDDLE_TEST_FULL") == "" {
			return // without groups it takes two seconds
		}
		path := filepath.Join(t.TempDir(), "lock")
		lock, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Close()
		held := func() bool {
			return errors.Is(unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
		}
		waits := func(how string) string { return waitVariable + "=" + how + " " + self + " & " }
		g, cmd := run(t, d, "container_1_1_1_w", Limits{}, waits("vfork")+waits("traced")+"flock "+path+" sleep 600 & read -r")
		await.Until(t, "all wait", func() bool {
			return inState(t, g, "sleep", 't') && inState(t, g, filepath.Base(self), 'D') && inState(t, g, "flock", 'S')
		})
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		traced := cmd.Process.Pid
		if err := unix.PtraceAttach(traced); err != nil {
			t.Fatal(err)
		}
		await.Until(t, "the shell is traced", func() bool { return inState(t, g, "bash", 't') })
		for range 2 {
			if err := g.Freeze(deadline(t)); err != nil {
				t.Fatal(err)
			}
			if frozen, err := g.Frozen(); err != nil || !frozen || !held() {
				t.Errorf("frozen %v, %v, and its lock is held: %v", frozen, err, held())
			}
			if err := g.Thaw(deadline(t)); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.Freeze(deadline(t)); err != nil {
			t.Fatal(err)
		}
		if err := g.Kill(deadline(t)); err != nil {
			t.Fatal(err)
		}
		if left := processes(t, g); len(left) > 0 || held() {
			t.Errorf("processes %v are left, and their lock is held: %v", left, held())
		}
		var status unix.WaitStatus
		if _, err := unix.Wait4(traced, &status, unix.WALL, nil); err != nil || status.Signal() != unix.SIGKILL {
			t.Errorf("%v: %v", err, status)
		}
	})
}
