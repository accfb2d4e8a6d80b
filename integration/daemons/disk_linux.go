package daemons

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// mountDisk makes a daemon's folder, on a disk of its own if the options ask for that.
func (c *Cluster) mountDisk(name string) error {
	if err := os.MkdirAll(c.Home(name), 0o755); err != nil || c.o.Disk == 0 {
		return err
	}
	if err := unix.Mount("heddle", c.Home(name), "tmpfs", 0, fmt.Sprintf("size=%d,mode=755", c.o.Disk)); err != nil {
		return fmt.Errorf("a disk for %s: %w", name, err)
	}
	return nil
}

func (c *Cluster) unmountDisk(name string) error {
	if c.o.Disk == 0 {
		return nil
	}
	if err := unix.Unmount(c.Home(name), unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("the disk of %s: %w", name, err)
	}
	return nil
}

// Fill fills the disk of a daemon. Drain undoes it.
func (c *Cluster) Fill(name string) error {
	if c.o.Disk == 0 {
		return fmt.Errorf("%s has no disk of its own", name)
	}
	f, err := os.Create(filepath.Join(c.Home(name), "filler"))
	if err != nil {
		return err
	}
	_, err = io.CopyN(f, zeros{}, c.o.Disk+1)
	if e := f.Close(); e != nil && !errors.Is(e, syscall.ENOSPC) {
		return e
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("the disk of %s accepted more than fits on it: %w", name, err)
	}
	return nil
}

// Drain undoes Fill.
func (c *Cluster) Drain(name string) error {
	err := os.Remove(filepath.Join(c.Home(name), "filler"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
