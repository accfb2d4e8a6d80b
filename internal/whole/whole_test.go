package whole

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, text := range []string{"first, and longer", "second"} {
		if err := Write(path, ".new-", 0o640, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"folder": "file exists", filepath.Join("absent", "file"): "no such file or directory"} {
		path := filepath.Join(dir, name)
		if err := Write(path, ".new-", 0o640, nil); err == nil || err.Error() != "write "+path+": "+want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("there is %v, %v", left, err)
	}
}
