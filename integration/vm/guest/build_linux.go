package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// build loads modules, assembles the file system, and brings the network up.
func build() error {
	if err := mounts("", []mount{{"proc", "proc", ""}, {"sys", "sysfs", ""}, {"dev", "devtmpfs", ""}}); err != nil {
		return err
	}
	if err := loadModules(); err != nil {
		return err
	}
	if err := buildRoot(); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte("vm")); err != nil {
		return err
	}
	return errors.Join(up("lo", nil), up("eth0", net.IPv4(10, 0, 2, 15)))
}

type mount struct{ at, kind, options string }

func mounts(root string, list []mount) error {
	for _, m := range list {
		at := filepath.Join("/", root, m.at)
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.kind, at, m.kind, 0, m.options); err != nil && !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("mount %s at %s: %w", m.kind, at, err)
		}
	}
	return nil
}

// loadModules loads the modules in the order of their names.
func loadModules() error {
	paths, err := filepath.Glob("/modules/*.ko")
	if err != nil {
		return err
	}
	for _, p := range paths {
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		err = unix.FinitModule(int(f.Fd()), "", 0)
		_ = f.Close() // nothing was written
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("module %s: %w", p, err)
		}
	}
	return nil
}

// buildRoot makes the host's files, below a layer in memory, the root.
func buildRoot() error {
	if err := unix.Mount("host", "/host", "9p", unix.MS_RDONLY, "trans=virtio,version=9p2000.L,cache=loose,msize=524288"); err != nil {
		return fmt.Errorf("mount the host's files: %w", err)
	}
	if err := mounts("", []mount{{"up", "tmpfs", "size=80%"}}); err != nil {
		return err
	}
	for _, d := range []string{"/up/upper", "/up/work"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	if err := unix.Mount("root", "/new", "overlay", 0, "lowerdir=/host,upperdir=/up/upper,workdir=/up/work"); err != nil {
		return fmt.Errorf("mount the root: %w", err)
	}
	if err := mounts("new", []mount{
		{"proc", "proc", ""},
		{"sys", "sysfs", ""},
		{"sys/fs/cgroup", "cgroup2", ""},
		{"dev", "devtmpfs", ""},
		{"dev/pts", "devpts", ""},
		{"dev/shm", "tmpfs", "mode=1777"},
		{"tmp", "tmpfs", "mode=1777"},
		{"run", "tmpfs", "mode=755"},
	}); err != nil {
		return err
	}
	if err := os.MkdirAll("/new/disk", 0o755); err != nil {
		return err
	}
	if err := os.Symlink("/proc/self/fd", "/new/dev/fd"); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	self, err := os.ReadFile("/init")
	if err != nil {
		return err
	}
	if err := os.WriteFile("/new/init.vm", self, 0o755); err != nil {
		return err
	}
	if err := unix.Chroot("/new"); err != nil {
		return err
	}
	return os.Chdir("/")
}

// up switches an interface on, and gives it an address unless ip is nil.
func up(name string, ip net.IP) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	set := func(request uint, change func(*unix.Ifreq) error) error {
		r, err := unix.NewIfreq(name)
		if err != nil {
			return err
		}
		if err := change(r); err != nil {
			return err
		}
		return unix.IoctlIfreq(s, request, r)
	}
	if ip != nil {
		if err := set(unix.SIOCSIFADDR, func(r *unix.Ifreq) error { return r.SetInet4Addr(ip.To4()) }); err != nil {
			return fmt.Errorf("the address of %s: %w", name, err)
		}
	}
	if err := set(unix.SIOCSIFFLAGS, func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP); return nil }); err != nil {
		return fmt.Errorf("switch %s on: %w", name, err)
	}
	return nil
}
