// Package hostile has programs of users who want to hurt a daemon on the same machine, for tests. They are in C, and need
// gcc.
package hostile

import (
	"bufio"
	"embed"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"heddle/internal/needs"
)

//go:embed *.c.txt
var sources embed.FS

// Build compiles a program into a folder, so that all users may run it, and returns its path.
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

// Start starts a program that Build has made, waits until it says that it is ready, and ends it with the test.
func Start(t testing.TB, cmd *exec.Cmd) (pid int) {
	t.Helper()
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%s says %q, %v", cmd, line, err)
	}
	return cmd.Process.Pid
}

// Endless starts a process whose environment and command line have 8 GB. Its environment begins with MARK=first.
func Endless(t testing.TB) (pid int) {
	t.Helper()
	return Start(t, exec.Command(Build(t, t.TempDir(), "endless"), "8"))
}
