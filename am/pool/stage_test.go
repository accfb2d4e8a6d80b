package pool

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/am/staging"
	"heddle/conf"
	"heddle/hdfsadapter/hdfstest"
)

// The program is copied once, into a folder of the user's own that leaves room for other users.
func TestTheProgramIsCopiedOnce(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a", "staging")
	c, err := conf.Load(conf.Options{Getenv: func(string) (string, bool) { return "", false }, Overrides: []string{staging.Key + "=" + base}})
	if err != nil {
		t.Fatal(err)
	}
	root, err := staging.New(hdfstest.Local(t), c, "somebody")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("text"), 0o755); err != nil {
		t.Fatal(err)
	}
	first, err := copyOnce(t.Context(), root, program)
	if err != nil {
		t.Fatal(err)
	}
	file := strings.TrimPrefix(first, "file://")
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(file); string(b) != "text" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if again, err := copyOnce(t.Context(), root, program); again != first || err != nil {
		t.Errorf("%s, %v", again, err)
	}
	if after, err := os.Stat(file); err != nil || !os.SameFile(before, after) {
		t.Errorf("it is copied again: %v", err)
	}
	if list, err := os.ReadDir(filepath.Dir(file)); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	for name, want := range map[string]fs.FileMode{base: 0o777 | fs.ModeSticky | fs.ModeDir, filepath.Join(base, "somebody"): 0o700 | fs.ModeDir, file: 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, want %v", name, info.Mode(), want)
		}
	}
	// Somebody else's folder may hold anything.
	if err := os.Chmod(filepath.Join(base, "somebody"), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := copyOnce(t.Context(), root, program); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(base, "somebody")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("others may write: %v, %v", info.Mode(), err)
	}
}
