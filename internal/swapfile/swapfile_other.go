//go:build !linux

package swapfile

import (
	"errors"
	"testing"
)

// On skips the test: only Linux swaps containers.
func On(t testing.TB, _ int64) {
	t.Helper()
	t.Skip("only Linux has groups that swap")
}

// Overcommitted skips the test: only Linux swaps containers.
func Overcommitted(t testing.TB, _, _ int64) { On(t, 0) }

// File fails: only Linux has groups that swap.
func File(string, int64) (func() error, error) { return nil, errors.ErrUnsupported }

// Compressed is 0: only Linux has zram and zswap.
func Compressed() (int64, error) { return 0, nil }

// Zswap fails: only Linux has it.
func Zswap(string) (func() error, error) { return nil, errors.ErrUnsupported }

// Zram fails: only Linux has it.
func Zram(int64, string, string) (func() error, error) { return nil, errors.ErrUnsupported }
