package pool

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A program that can't be executed although it is there is most likely in a folder that is mounted noexec: the executor's standard error says so.
func TestExecutorsNameFoldersThatAreMountedNoexec(t *testing.T) {
	dir := t.TempDir()
	run := func() (string, int) {
		c := exec.Command("sh", "-c", `exec /bin/bash -c "`+executorCommand(3, "host:1")+` 1>out 2>err"`) // as launch scripts do
		c.Dir = dir
		_ = c.Run() // its exit code counts
		out, _ := os.ReadFile(filepath.Join(dir, "out"))
		errs, _ := os.ReadFile(filepath.Join(dir, "err"))
		return string(out) + string(errs), c.ProcessState.ExitCode()
	}
	program := filepath.Join(dir, BinaryFile)
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$@\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, code := run(); code != 126 || !strings.Contains(said, program+" cannot be executed") || !strings.Contains(said, "yarn.nodemanager.local-dirs mounted noexec") {
		t.Errorf("exit code %d: %s", code, said)
	}
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	if said, code := run(); code != 0 || said != "executor --watch --slots 3 host:1\n" {
		t.Errorf("exit code %d: %s", code, said)
	}
}
