// Package publicdir makes folders for tests that run processes as other users.
package publicdir

import (
	"os"
	"testing"
)

// New makes a folder that all users may list and pass through, unlike those of testing.TB.TempDir. Its parent is the
// system's folder for temporary files if parent is "". It is removed when the test ends.
func New(t testing.TB, parent string) string {
	t.Helper()
	dir, err := os.MkdirTemp(parent, "heddle-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
