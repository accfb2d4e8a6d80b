//go:build !linux

package ramdisk

import (
	"context"
	"errors"
	"io"
)

// Config is that of Linux.
type Config struct {
	Dir    string
	Size   int64
	Helper []string
	Join   func(pid int) error
}

// Disk exists on Linux only.
type Disk struct{}

// Open fails.
func Open(Config) (*Disk, error) { return nil, errors.ErrUnsupported }

// Clear has nothing to do.
func Clear(string) error { return nil }

// Close has nothing to do.
func (*Disk) Close() error { return nil }

// Copy fails.
func (*Disk) Copy(context.Context, int, io.Reader, int64) (string, func(), error) {
	return "", nil, errors.ErrUnsupported
}

// Has has nothing.
func (*Disk) Has(string) bool { return false }

// Size is nothing.
func (*Disk) Size() int64 { return 0 }

// Used is nothing.
func (*Disk) Used() int64 { return 0 }
