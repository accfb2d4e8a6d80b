// Package swapfile gives tests, and benchmarks, a machine with swap. They make a file, swap to it, and take it away again.
package swapfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
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

// Overcommitted makes the machine swap to size bytes of a disk with room for fewer, until the test ends: what is written beyond that fails. It is a
// sparse file on a small file system, and preferred to other swap. It skips the test where On does, and where the machine has no loop devices.
func Overcommitted(t testing.TB, size, room int64) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may turn swap on")
	}
	dir := t.TempDir()
	disk, mount := filepath.Join(dir, "disk"), filepath.Join(dir, "mount")
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	loop := func(file string) (device string) {
		t.Helper()
		device = run("losetup", "--find", "--show", file)
		t.Cleanup(func() { run("losetup", "--detach", device) })
		return device
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		t.Skipf("%v: %v", errRefused, err)
	}
	if err := errors.Join(os.Mkdir(mount, 0o700), sparse(disk, room)); err != nil {
		t.Fatal(err)
	}
	device := loop(disk)
	run("mkfs.ext4", "-q", "-m", "0", device)
	run("mount", device, mount)
	t.Cleanup(func() { run("umount", mount) })
	if err := sparse(filepath.Join(mount, "swap"), size); err != nil {
		t.Fatal(err)
	}
	device = loop(filepath.Join(mount, "swap"))
	// A request that doesn't fit as a whole is written in part, and the kernel (6.18) takes it for done. One page fits, or doesn't.
	queue := filepath.Join("/sys/block", filepath.Base(device), "queue/max_sectors_kb")
	if err := os.WriteFile(queue, []byte(strconv.Itoa(os.Getpagesize()>>10)), 0o200); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(label(device, size), on(device, preferred)); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := swapoff(device); err != nil {
			t.Error(err)
		}
	})
}

// sparse makes a file that takes no room yet.
func sparse(path string, size int64) error {
	return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, size))
}

// errRefused says that the kernel doesn't swap to a file.
var errRefused = errors.New("this machine can't swap")

// File makes a file of so many bytes and has the machine swap to it. off ends that and removes the file.
func File(path string, size int64) (off func() error, err error) {
	if err := write(path, size); err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	if err := on(path, 0); err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return func() error { return errors.Join(swapoff(path), os.Remove(path)) }, nil
}

// Zram has the machine swap to compressed memory: a new device of so many bytes. off ends that and removes the device. Until then a file zram-N in dir, N being
// the device's number, lets others do so for a process that is killed (hadooplab.Guarded).
func Zram(size int64, algorithm, dir string) (off func() error, err error) {
	const control = "/sys/class/zram-control/"
	b, err := os.ReadFile(control + "hot_add")
	if err != nil {
		return nil, fmt.Errorf("this machine has no zram: %w", err)
	}
	id := strings.TrimSpace(string(b))
	note := filepath.Join(dir, "zram-"+id)
	remove := func() error {
		return errors.Join(os.WriteFile(control+"hot_remove", []byte(id), 0o200), os.Remove(note))
	}
	if err := os.WriteFile(note, nil, 0o600); err != nil {
		return nil, errors.Join(err, os.WriteFile(control+"hot_remove", []byte(id), 0o200))
	}
	block, device := "/sys/block/zram"+id+"/", "/dev/zram"+id
	err = os.WriteFile(block+"comp_algorithm", []byte(algorithm), 0o200)
	if err == nil {
		err = os.WriteFile(block+"disksize", []byte(strconv.FormatInt(size, 10)), 0o200)
	}
	if err == nil {
		err = label(device, size)
	}
	if err == nil {
		err = on(device, 0)
	}
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	return func() error {
		return errors.Join(swapoff(device), os.WriteFile(block+"reset", []byte("1"), 0o200), remove())
	}, nil
}

// Zswap makes the kernel keep in memory, compressed, what it would write to swap, as long as there is room. off ends that for later pages: turn the
// swap off before it. Until then a file zswap in dir has what the kernel did before, as Zram's.
func Zswap(dir string) (off func() error, err error) {
	const file = "/sys/module/zswap/parameters/enabled"
	note := filepath.Join(dir, "zswap")
	was, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(note, was, 0o600)
	}
	if err == nil {
		err = os.WriteFile(file, []byte("Y"), 0o200)
	}
	if err != nil {
		return nil, fmt.Errorf("this machine has no zswap: %w", err)
	}
	return func() error { return errors.Join(os.WriteFile(file, was, 0o200), os.Remove(note)) }, nil
}

// Compressed returns how many bytes of memory zram and zswap take.
func Compressed() (bytes int64, err error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "Zswap:" {
			kb, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				return 0, fmt.Errorf("/proc/meminfo: %w", err)
			}
			bytes += kb << 10
		}
	}
	devices, err := filepath.Glob("/sys/block/zram*/mm_stat")
	for _, name := range devices {
		text, e := os.ReadFile(name)
		if f := strings.Fields(string(text)); e == nil && len(f) > 2 { // the third is all that the device takes
			n, e := strconv.ParseInt(f[2], 10, 64)
			if e != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", name, e))
			}
			bytes += n
		}
	}
	return bytes, err
}

// preferred has the kernel fill this swap first: SWAP_FLAG_PREFER, and the highest priority.
const preferred = 0x8000 | 0x7fff

func on(path string, flags uintptr) error {
	if e := call(unix.SYS_SWAPON, path, flags); e != nil {
		return fmt.Errorf("%w to %s: %w", errRefused, path, e)
	}
	return nil
}

func swapoff(path string) error {
	if e := call(unix.SYS_SWAPOFF, path, 0); e != nil {
		return fmt.Errorf("swapoff %s: %w", path, e)
	}
	return nil
}

func call(number uintptr, path string, flags uintptr) error {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	if _, _, e := unix.Syscall(number, uintptr(unsafe.Pointer(name)), flags, 0); e != 0 {
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
