package hadooplab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// SlowDisk makes the lab's DataNodes read as slowly as from shared disks, and forget what they have read. It needs the cgroup controller blkio of version 1.
type SlowDisk struct {
	dir    string
	groups []string // one for each DataNode
}

const blkio = "/sys/fs/cgroup/blkio"

// NewSlowDisk has each of a lab's DataNodes read so many bytes a second, as from a disk of its own, until the test ends. The kernel lets it read the bytes of 100 ms at once when it hasn't read for a
// while.
func NewSlowDisk(t testing.TB, lab *Lab, rate int) *SlowDisk {
	t.Helper()
	d := &SlowDisk{dir: lab.Dir()}
	var disk syscall.Stat_t
	if err := syscall.Stat(d.dir, &disk); err != nil {
		t.Fatal(err)
	}
	limit := fmt.Sprintf("%d:%d %d", unix.Major(disk.Dev), unix.Minor(disk.Dev), rate)
	for i := range lab.options.DataNodes {
		d.slow(t, i, strconv.Itoa(lab.Daemon(fmt.Sprintf("datanode%d", i+1)).PID()), limit)
	}
	return d
}

// slow gives a process a group with a limit.
func (d *SlowDisk) slow(t testing.TB, i int, pid, limit string) {
	t.Helper()
	group := filepath.Join(blkio, fmt.Sprintf("heddle-bench-%d-source-%d", os.Getpid(), i))
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Fatalf("a slow disk needs the cgroup controller blkio of version 1: %v", err)
	}
	t.Cleanup(func() {
		if err := errors.Join(os.WriteFile(filepath.Join(blkio, "cgroup.procs"), []byte(pid), 0), os.Remove(group)); err != nil {
			t.Error(err)
		}
	})
	for file, text := range map[string]string{"blkio.throttle.read_bps_device": limit, "cgroup.procs": pid} {
		if err := os.WriteFile(filepath.Join(group, file), []byte(text), 0); err != nil {
			t.Fatal(err)
		}
	}
	d.groups = append(d.groups, group)
}

// Cool drops what the page cache has of HDFS's blocks.
func (d *SlowDisk) Cool(t testing.TB) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(d.dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !strings.HasPrefix(e.Name(), "blk_") {
			return nil // what comes and goes there is none of them
		}
		f, err := os.Open(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil // the DataNode has removed it meanwhile
		} else if err != nil {
			return err
		}
		n++
		defer f.Close()
		return errors.Join(f.Sync(), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
	})
	if err != nil || n == 0 {
		t.Fatalf("%d blocks: %v", n, err)
	}
}

// Read returns how many bytes the DataNodes have read from their disks so far.
func (d *SlowDisk) Read(t testing.TB) (n int64) {
	t.Helper()
	for _, group := range d.groups {
		text, err := os.ReadFile(filepath.Join(group, "blkio.throttle.io_service_bytes"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			if f := strings.Fields(string(line)); len(f) == 3 && f[1] == "Read" {
				x, err := strconv.ParseInt(f[2], 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				n += x
			}
		}
	}
	return n
}
