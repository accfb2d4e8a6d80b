package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"heddle/internal/await"
)

// instances counts this process's inotify instances.
func instances(t *testing.T) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if what, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && what == "anon_inode:inotify" {
			n++
		}
	}
	return n
}

// A user has 128 inotify instances by default, and a node more containers.
func TestOneInotifyInstanceForAllContainers(t *testing.T) {
	const n = 300
	before := instances(t)
	var w watching
	told := make([]atomic.Int32, n)
	stops := make([]func(), n)
	path := func(i int) string { return filepath.Join(t.TempDir(), fmt.Sprint(i)) }
	var paths []string
	for i := range n {
		paths = append(paths, path(i))
		if err := os.WriteFile(paths[i], nil, 0o600); err != nil {
			t.Fatal(err)
		}
		stops[i] = w.watch(paths[i], func() bool { told[i].Add(1); return true })
	}
	if got := instances(t) - before; got != 1 {
		t.Errorf("%d instances for %d files", got, n)
	}
	for _, i := range []int{0, 128, n - 1} {
		if err := os.WriteFile(paths[i], []byte("oom_kill 1"), 0o600); err != nil {
			t.Fatal(err)
		}
		await.Until(t, "news of a change", func() bool { return told[i].Load() > 0 })
	}
	if told[1].Load() != 0 {
		t.Error("news of another's change")
	}
	for i := range n {
		stops[i]()
	}
	w.close()
	if got := instances(t) - before; got != 0 {
		t.Errorf("%d instances are left", got)
	}
}

// Where the kernel has no instance left, files are looked at now and then.
func TestWithoutInotifyFilesAreLookedAt(t *testing.T) {
	defer func(f func(int) (int, error)) { init1 = f }(init1)
	init1 = func(int) (int, error) { return -1, unix.EMFILE }
	synctest.Test(t, func(t *testing.T) {
		var w watching
		var looks atomic.Int32
		stop := w.watch("/memory.events", func() bool { looks.Add(1); return false })
		other := w.watch("/memory.events", func() bool { return false })
		time.Sleep(10*lookInterval + lookInterval/2)
		if got := looks.Load(); got != 10 {
			t.Errorf("%d looks in 10 intervals", got)
		}
		stop()
		time.Sleep(10 * lookInterval)
		if got := looks.Load(); got != 10 {
			t.Errorf("%d looks, some after the end of the watch", got)
		}
		other()
		w.close()
	})
}

// Whatever the kernel, a limit below what is in use is refused, and nobody is killed for it.
func TestALimitBelowWhatIsInUseIsRefused(t *testing.T) {
	onEach(t, func(t *testing.T, d Handler) {
		if !d.Capabilities().MemoryLimit {
			return
		}
		g, err := d.Create("c", Limits{Memory: 256 << 20})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("/bin/bash", "-c", "read; x=$(head -c 50000000 /dev/zero | tr '\\0' x); echo; sleep 600; :")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		defer func() {
			if err := errors.Join(g.Kill(ctx)); err != nil {
				t.Error(err)
			}
			cmd.Wait()
			if err := g.Destroy(ctx); err != nil {
				t.Error(err)
			}
		}()
		if err := g.Add(cmd.Process.Pid); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(in)
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if err := g.SetLimits(Limits{Memory: 16 << 20}); !errors.Is(err, syscall.EBUSY) {
			t.Errorf("a limit of 16 MiB: %v", err)
		}
		if err := g.SetLimits(Limits{Memory: 128 << 20}); err != nil {
			t.Errorf("a limit of 128 MiB: %v", err)
		}
		use, err := g.Usage()
		if err != nil || use.OOMKills > 0 || use.Processes < 1 {
			t.Errorf("%+v, %v", use, err)
		}
	})
}

// More containers than a user has inotify instances fit on a node, and the last one's end for want of memory is seen.
func TestHundredsOfGroups(t *testing.T) {
	onEach(t, func(t *testing.T, d Handler) {
		const n = 300
		before := instances(t)
		var groups []Group
		defer func() {
			for _, g := range groups {
				if err := g.Destroy(deadline(t)); err != nil {
					t.Error(err)
				}
			}
		}()
		for i := range n {
			g, err := d.Create(fmt.Sprint("c", i), Limits{Memory: 16 << 20})
			if err != nil {
				t.Fatal(err)
			}
			groups = append(groups, g)
		}
		if got := instances(t) - before; got > 1 {
			t.Errorf("%d inotify instances", got)
		}
		last := groups[n-1]
		if last.OOM() == nil {
			return
		}
		cmd := exec.Command("/bin/bash", "-c", "read; head -c 100000000 /dev/zero | tail")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Wait()
		if err := last.Add(cmd.Process.Pid); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(in)
		select {
		case <-last.OOM():
		case <-deadline(t).Done():
			t.Error("nobody was told of the end of a process for want of memory")
		}
		if err := last.Kill(deadline(t)); err != nil {
			t.Error(err)
		}
	})
}
