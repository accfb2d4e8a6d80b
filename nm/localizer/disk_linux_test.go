package localizer

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"heddle/internal/publicdir"
	"heddle/nm/nmtest"
)

// tmpfs mounts a file system of size bytes.
func tmpfs(t *testing.T, dir, size string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0755,"+size); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
}

// A disk that is really full, without any reserve to warn before.
func TestFullDisk(t *testing.T) {
	base := publicdir.New(t, "/var/tmp")
	disk := filepath.Join(base, "disk")
	tmpfs(t, disk, "size=2m,nr_inodes=500")
	n := newNode(t, func(c *Config) {
		c.Dirs = nmtest.Dirs{disk}
		c.Space = func(string) (Space, error) { return Space{Free: 1 << 40}, nil } // as if there were room
	})
	big := n.file("big", strings.Repeat("x", 3<<20), Private)
	err := n.fail(container(1, 1), "alice", big)
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "no space left on the disk of "+disk) {
		t.Errorf("got %v", err)
	}
	if size, err := diskUse(disk); size != 0 || err != nil {
		t.Errorf("%d bytes are left, %v", size, err)
	}
	n.get(container(1, 1), "alice", n.file("small", "x", Private))

	// The same, seen in time.
	n.config.Space, n.config.Reserve = DiskSpace, 1<<20
	n.restart()
	if err := n.fail(container(1, 1), "alice", big); !strings.Contains(err.Error(), "no local directory has room for 3145728 bytes") {
		t.Errorf("got %v", err)
	}
	big.Size = 0 // announced too small
	if err := n.fail(container(1, 1), "alice", big); !strings.Contains(err.Error(), "no space left on the disk of "+disk) {
		t.Errorf("got %v", err)
	}
}
