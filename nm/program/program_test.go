package program

import (
	"os"
	"path/filepath"
	"testing"
)

// A container without an image runs the machine's file, whatever its path is; one with an image has a file of its own, which is that of the machine.
func TestOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "it's heddle")
	if _, _, err := Of(path, true); err == nil {
		t.Error("no program at all is a file")
	}
	if err := os.WriteFile(path, []byte("12345"), 0o700); err != nil {
		t.Fatal(err)
	}
	word, files, err := Of("/a/it's heddle", false)
	if word != `'/a/it'\''s heddle'` || len(files) != 0 || err != nil {
		t.Errorf("%s, %v, %v", word, files, err)
	}
	word, files, err = Of(path, true)
	if err != nil || len(files) != 1 || word != "./"+files[0].GetKey() {
		t.Fatalf("%s, %v, %v", word, files, err)
	}
	file := files[0].GetValue()
	if at := file.GetResource(); at.GetScheme() != "file" || at.GetFile() != path || file.GetSize() != 5 {
		t.Errorf("%v", file)
	}
}
