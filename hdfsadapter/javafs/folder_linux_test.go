package javafs

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// The folder of a process that was killed goes when another of the same user makes one. Those of living processes stay, and what isn't one.
func TestFoldersOfKilledProcesses(t *testing.T) {
	if os.Getenv("HEDDLE_TEST_FOLDER") != "" {
		dir, err := NewFolder()
		if err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString(dir + "\n")
		_, _ = os.Stdin.Read(make([]byte, 1)) // until it is killed
		return
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	fresh, old, other := filepath.Join(temp, "heddle-java-fresh"), filepath.Join(temp, "heddle-java-old"), filepath.Join(temp, "other")
	for _, dir := range []string{fresh, old, other} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, filepath.Join(temp, "heddle-java-link")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "TestFoldersOfKilledProcesses")
	cmd.Env = append(os.Environ(), "HEDDLE_TEST_FOLDER=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	killed := lines.Text()
	mine, err := NewFolder()
	if err != nil {
		t.Fatal(err)
	}
	there := func(dir string) bool {
		_, err := os.Lstat(dir)
		return err == nil
	}
	if !there(killed) || there(old) || !there(fresh) || !there(other) || !there(filepath.Join(temp, "heddle-java-link")) {
		t.Errorf("while it lives: %v, old %v, new %v, others %v", there(killed), there(old), there(fresh), there(other))
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if _, err := NewFolder(); err != nil || there(killed) || !there(mine) {
		t.Errorf("after its end: %v, mine %v, %v", there(killed), there(mine), err)
	}
}
