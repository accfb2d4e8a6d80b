// Package publicdir makes folders for tests that run things as other users.
package publicdir

import (
	"os"
	"testing"
)

// New makes a folder that everybody may look into and pass through, unlike those of testing.TB.TempDir. It is in parent, or where the
// system keeps temporary files if that is "", and goes with the test.
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
