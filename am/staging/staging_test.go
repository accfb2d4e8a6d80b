package staging

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/conf"
	"heddle/hdfsadapter/hdfstest"
)

func testRoot(t *testing.T, base string) *Root {
	t.Helper()
	c, err := conf.Load(conf.Options{Getenv: func(string) (string, bool) { return "", false }, Overrides: []string{Key + "=" + base}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(hdfstest.Local(t), c, "somebody")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The first user made the folder of all users for itself alone.
func TestStagingFolderIsForAllUsers(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a", "staging")
	r := testRoot(t, base)
	for range 2 {
		if err := r.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]fs.FileMode{base: 0o777 | fs.ModeSticky, filepath.Join(base, "somebody"): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode()&^fs.ModeDir != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	r.user = "another"
	if err := r.Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "not to another") {
		t.Errorf("a folder of somebody else's: %v", err)
	}
}
