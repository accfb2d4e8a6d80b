package hadooplab

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"heddle/internal/await"
)

// EndWith kills the command at the end of a test that has failed before it waited.
func (c *Command) EndWith(t testing.TB) {
	t.Cleanup(func() {
		done, cancel := context.WithCancel(context.Background())
		cancel()
		_, _ = c.Wait(done)
	})
}

// Put writes a file into HDFS, and makes its missing parent folders.
func (l *Lab) Put(t testing.TB, path, text string) {
	t.Helper()
	local := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(local, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-mkdir", "-p", filepath.Dir(path)}, {"-put", "-f", local, path}} {
		if _, err := l.Run(t.Context(), append([]string{"hdfs", "dfs"}, args...)...); err != nil {
			t.Fatal(err)
		}
	}
}

// Status waits until an application has ended, and returns the output of "yarn application -status".
func (l *Lab) Status(t testing.TB, id string) string {
	t.Helper()
	var out string
	await.Slowly(t, id+" has ended", func() bool {
		var err error
		if out, err = l.Run(t.Context(), "yarn", "application", "-status", id); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(out, "\tState : FINISHED") || strings.Contains(out, "\tState : FAILED") || strings.Contains(out, "\tState : KILLED")
	})
	return out
}

var startedJVM = regexp.MustCompile(`have started in JVM (\d+)`)

// ServicesJVM returns the process with the auxiliary services of the first node, which is Heddle's, once they have started in another one than old.
func ServicesJVM(t testing.TB, l *Lab, old int) (pid int) {
	t.Helper()
	await.Slowly(t, "the auxiliary services have started in a JVM", func() bool {
		found := startedJVM.FindAllStringSubmatch(l.Daemon("nodemanager1").Log(), -1)
		if len(found) == 0 {
			return false
		}
		var err error
		pid, err = strconv.Atoi(found[len(found)-1][1])
		return err == nil && pid != old
	})
	return pid
}
