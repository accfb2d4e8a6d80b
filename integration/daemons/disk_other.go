//go:build !linux

package daemons

import (
	"errors"
	"os"
)

var errLinux = errors.New("only Linux can do that")

func (c *Cluster) mountDisk(name string) error {
	if c.o.Disk > 0 {
		return errLinux
	}
	return os.MkdirAll(c.Home(name), 0o755)
}

func (*Cluster) unmountDisk(string) error { return nil }

// Fill fills the disk of a daemon. Drain undoes it.
func (*Cluster) Fill(string) error { return errLinux }

// Drain undoes Fill.
func (*Cluster) Drain(string) error { return errLinux }
