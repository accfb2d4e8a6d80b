//go:build !linux

package hungdisk

import "testing"

// Mount skips the test: only Linux has such a disk.
func Mount(t testing.TB, _ string) (release func()) {
	t.Helper()
	t.Skip("only Linux mounts a disk that hangs")
	return nil
}
