package machine

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

// The memory that a process may use follows from the least limit of its groups.
func TestMemoryOfGroups(t *testing.T) {
	files := map[string]string{
		"/a/b/memory.max": "max\n", "/a/memory.max": "3000\n", "/memory.max": "9000\n",
		"memory/x/memory.limit_in_bytes": "500\n", "memory/memory.limit_in_bytes": "9223372036854771712\n",
	}
	read := func(file string) string { return files[file] }
	for own, want := range map[string]int64{
		"0::/a/b\n": 3000, "0::/\n": 9000, "0::/other/group\n": 9000, "": math.MaxInt64, "nonsense": math.MaxInt64,
		"5:memory:/x\n4:cpu:/a\n0::/other\n": 500, "5:memory:/\n": 9223372036854771712,
	} {
		if got := groupMemory(own, read); got != want {
			t.Errorf("%q: %d bytes, not %d", own, got, want)
		}
	}
}

func TestUsableMemory(t *testing.T) {
	root := t.TempDir()
	write := func(file, text string) {
		t.Helper()
		at := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOMEMLIMIT", "")
	if n := usableMemory(root); n != math.MaxInt64 {
		t.Errorf("without files it may use %d bytes", n)
	}
	write("proc/meminfo", "MemTotal: 2048 kB\nMemFree: 1 kB\n")
	if n := usableMemory(root); n != 2<<20 {
		t.Errorf("of a machine of 2 MB it may use %d bytes", n)
	}
	write("proc/self/cgroup", "0::/a/b\n")
	write("sys/fs/cgroup/a/memory.max", "4096\n")
	write("sys/fs/cgroup/a/b/memory.max", "max\n")
	if n := usableMemory(root); n != 4096 {
		t.Errorf("in a group of 4,096 bytes it may use %d", n)
	}
	was := debug.SetMemoryLimit(4000)
	defer debug.SetMemoryLimit(was)
	if n := usableMemory(root); n != 4096 {
		t.Errorf("a limit that no administrator has set leaves %d bytes", n)
	}
	t.Setenv("GOMEMLIMIT", "4000")
	if n := usableMemory(root); n != 4000 {
		t.Errorf("of a limit of 4,000 it may use %d bytes", n)
	}
}
