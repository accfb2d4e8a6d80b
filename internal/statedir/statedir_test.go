package statedir

import (
	"os"
	"path/filepath"
	"testing"
)

// Users have to get to what lies beside the state, but not into that.
func TestStateClosesNoFolderAboveIt(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "tmp", "heddle", "rm-rm1")
	for range 2 { // the second time all is there
		if err := Make(dir); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Dir(dir): 0o755, filepath.Join(base, "tmp"): 0o755} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}
