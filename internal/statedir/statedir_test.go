package statedir

import (
	"os"
	"path/filepath"
	"strings"
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

// A folder that an administrator has made for all users to enter kept its mode, and who is on the machine could read master keys and tokens in it.
func TestStateIsClosedToAllUsers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Make(dir); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// The state was taken below a folder of mode 0777, from which others moved it away.
func TestStateIsRefusedWhereOthersCanMoveIt(t *testing.T) {
	open := filepath.Join(t.TempDir(), "open")
	if err := os.Mkdir(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(open, "heddle", "nm-1")
	for range 2 { // before and after it was made
		if err := Make(dir); err == nil || !strings.Contains(err.Error(), "chmod go-w "+open) {
			t.Errorf("got %v, want the folder and how to mend it", err)
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}
