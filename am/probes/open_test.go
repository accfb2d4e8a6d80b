package probes_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"heddle/am/probes"
	"heddle/hdfsadapter/hdfstest"
	"heddle/yarn/wire"
)

// A task reads the copy, and the file itself if there is none or it has got lost.
func TestInputsFallBack(t *testing.T) {
	dir := t.TempDir()
	name, copied := filepath.Join(dir, "file"), filepath.Join(dir, "copy")
	for path, text := range map[string]string{name: "file", copied: "copy"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files := hdfstest.Local(t)
	for variable, want := range map[string]string{"": "file", copied: "copy", copied + "lost": "file"} {
		t.Setenv(wire.InputVariable, variable)
		in, staged, err := probes.OpenInput(t.Context(), files, name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(in)
		if err = errors.Join(err, in.Close()); err != nil || string(b) != want || staged != (want == "copy") {
			t.Errorf("%q: %q, %t, %v", variable, b, staged, err)
		}
	}
	t.Setenv(wire.InputVariable, "") // the map's order says which one was last
	if _, _, err := probes.OpenInput(t.Context(), files, name+"lost"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
