package rm

import (
	"math"
	"testing"
)

// The memory that applications may take follows from the least limit of the process's groups.
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
	if n := usableMemory(); n < 64<<20 || n > 1<<50 {
		t.Errorf("this process may use %d bytes", n)
	}
}
