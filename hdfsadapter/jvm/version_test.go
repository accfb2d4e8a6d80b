package jvm

import (
	"os"
	"path/filepath"
	"testing"
)

func TestVersion(t *testing.T) {
	for text, want := range map[string]int{
		"IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"17.0.15\"\n": 17, "JAVA_VERSION=\"1.8.0_442\"": 8, "JAVA_VERSION=\"21-ea\"": 21,
		"JAVA_VERSION=\"\"": 0, "nothing": 0,
	} {
		home := t.TempDir()
		if err := os.WriteFile(filepath.Join(home, "release"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := Version(home); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
	if got := Version(t.TempDir()); got != 0 {
		t.Errorf("no Java: %d", got)
	}
}
