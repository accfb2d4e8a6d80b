package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestThePageHasAllPackages(t *testing.T) {
	var want bytes.Buffer
	if err := write(&want, "../.."); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../docs/packages.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("docs/packages.md isn't what the packages' comments say: go run ./internal/packages > docs/packages.md")
	}
}

// A package that says nothing, and one that no section has, are named.
func TestWhatLacksIsNamed(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"rm/mute/mute.go", "package mute\n", "rm/mute has no package comment"},
		{"elsewhere/x.go", "// Package elsewhere is nowhere.\npackage elsewhere\n", "elsewhere is in no section"},
	} {
		root := t.TempDir()
		file := filepath.Join(root, c.file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := write(&bytes.Buffer{}, root); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.file, err, c.want)
		}
	}
}
