// Package hostile has programs of users who want to hurt a daemon on the same machine, for tests. They are in C, and need
// gcc.
package hostile

import (
	"embed"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"heddle/internal/needs"
)

//go:embed *.c.txt
var sources embed.FS

// Build compiles a program into a folder, so that everybody may run it, and returns its path.
//
//   - endless N makes its environment and command line N GB long, says "ready", and waits.
//   - thief PID takes the descriptors 1 to 9 of a process, makes their files 4 TB long, and says how many it has taken.
func Build(t testing.TB, dir, name string) string {
	t.Helper()
	text, err := sources.ReadFile(name + ".c.txt")
	if err != nil {
		t.Fatal(err)
	}
	source, program := filepath.Join(dir, name+".c"), filepath.Join(dir, name)
	if err := os.WriteFile(source, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(needs.Program(t, "gcc"), "-static", "-O1", "-w", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	return program
}
