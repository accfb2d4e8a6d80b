// Package swapfile gives tests a machine with swap. A test makes a file, swaps to it, and takes it away again.
package swapfile

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// On has the machine swap to a new file of so many bytes until the test ends. It skips the test where this process may not do that, or
// the kernel can't. Other tests may have files of their own meanwhile.
func On(t testing.TB, size int64) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may turn swap on")
	}
	path := filepath.Join(t.TempDir(), "swap")
	if err := write(path, size); err != nil {
		t.Fatal(err)
	}
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, e := unix.Syscall(unix.SYS_SWAPON, uintptr(unsafe.Pointer(name)), 0, 0); e != 0 {
		t.Skipf("this machine can't swap to %s: %v", path, e)
	}
	t.Cleanup(func() {
		if _, _, e := unix.Syscall(unix.SYS_SWAPOFF, uintptr(unsafe.Pointer(name)), 0, 0); e != 0 {
			t.Errorf("swapoff %s: %v", path, e)
		}
	})
}

// write makes the file as mkswap does: the kernel takes one without holes whose first page says what it is.
func write(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Fallocate(int(f.Fd()), 0, 0, size); err != nil {
		return &os.PathError{Op: "allocate", Path: path, Err: err}
	}
	page := os.Getpagesize()
	head := make([]byte, page)
	binary.NativeEndian.PutUint32(head[1024:], 1)                          // version
	binary.NativeEndian.PutUint32(head[1028:], uint32(size/int64(page))-1) // last page
	copy(head[page-10:], "SWAPSPACE2")
	if _, err := f.WriteAt(head, 0); err != nil {
		return err
	}
	return f.Sync()
}
