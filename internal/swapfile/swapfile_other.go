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

// File fails: only Linux has groups that swap.
func File(string, int64) (func() error, error) { return nil, errors.ErrUnsupported }

// Zram fails: only Linux has it.
func Zram(int64, string) (func() error, error) { return nil, errors.ErrUnsupported }
