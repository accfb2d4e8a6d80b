// Package swapfile gives tests, and benchmarks, a machine with swap. They make a file, swap to it, and take it away again.
package swapfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
	off, err := File(filepath.Join(t.TempDir(), "swap"), size)
	if errors.Is(err, errRefused) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := off(); err != nil {
			t.Error(err)
		}
	})
}

// errRefused says that the kernel doesn't swap to a file.
var errRefused = errors.New("this machine can't swap")

// File makes a file of so many bytes and has the machine swap to it. off ends that and removes the file.
func File(path string, size int64) (off func() error, err error) {
	if err := write(path, size); err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	if err := on(path); err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return func() error { return errors.Join(swapoff(path), os.Remove(path)) }, nil
}

// Zram has the machine swap to compressed memory: a new device of so many bytes. off ends that and removes the device.
func Zram(size int64, algorithm string) (off func() error, err error) {
	const control = "/sys/class/zram-control/"
	b, err := os.ReadFile(control + "hot_add")
	if err != nil {
		return nil, fmt.Errorf("this machine has no zram: %w", err)
	}
	id := strings.TrimSpace(string(b))
	remove := func() error { return os.WriteFile(control+"hot_remove", []byte(id), 0o200) }
	block, device := "/sys/block/zram"+id+"/", "/dev/zram"+id
	err = os.WriteFile(block+"comp_algorithm", []byte(algorithm), 0o200)
	if err == nil {
		err = os.WriteFile(block+"disksize", []byte(strconv.FormatInt(size, 10)), 0o200)
	}
	if err == nil {
		err = label(device, size)
	}
	if err == nil {
		err = on(device)
	}
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	return func() error {
		return errors.Join(swapoff(device), os.WriteFile(block+"reset", []byte("1"), 0o200), remove())
	}, nil
}

func on(path string) error {
	if e := call(unix.SYS_SWAPON, path); e != nil {
		return fmt.Errorf("%w to %s: %w", errRefused, path, e)
	}
	return nil
}

func swapoff(path string) error {
	if e := call(unix.SYS_SWAPOFF, path); e != nil {
		return fmt.Errorf("swapoff %s: %w", path, e)
	}
	return nil
}

func call(number uintptr, path string) error {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	if _, _, e := unix.Syscall(number, uintptr(unsafe.Pointer(name)), 0, 0); e != 0 {
		return e
	}
	return nil
}

// label writes what mkswap writes to a device.
func label(device string, size int64) error {
	f, err := os.OpenFile(device, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := head(f, size); err != nil {
		return err
	}
	return f.Sync()
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
	if err := head(f, size); err != nil {
		return err
	}
	return f.Sync()
}

// head writes the first page of swap of so many bytes.
func head(f *os.File, size int64) error {
	page := os.Getpagesize()
	head := make([]byte, page)
	binary.NativeEndian.PutUint32(head[1024:], 1)                          // version
	binary.NativeEndian.PutUint32(head[1028:], uint32(size/int64(page))-1) // last page
	copy(head[page-10:], "SWAPSPACE2")
	_, err := f.WriteAt(head, 0)
	return err
}
