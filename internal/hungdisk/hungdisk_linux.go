package hungdisk

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Mount mounts a file system on dir on which every call hangs until release is called, and then fails. It is that of a
// FUSE server that never answers. Only root can mount it; the test is skipped for others, and without FUSE. It is unmounted when the test ends: who made a
// call that hung and makes another then gets a folder like any other.
func Mount(t testing.TB, dir string) (release func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a disk that hangs")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("this machine has no FUSE: %v", err)
	}
	if err := unix.Mount("hung", dir, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd)); err != nil {
		unix.Close(fd)
		t.Skipf("this machine mounts no FUSE: %v", err)
	}
	release = sync.OnceFunc(func() { unix.Close(fd) })
	t.Cleanup(func() {
		release()
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return release
}
