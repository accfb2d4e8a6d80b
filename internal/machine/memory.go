package machine

import (
	"math"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"

	"heddle/internal/bounded"
)

// UsableMemory returns how many bytes of memory this process may use: the least of the machine's memory, the limits of its cgroups, and
// GOMEMLIMIT if that is set. Each call reads them, as an administrator may change a group's limit at any time.
func UsableMemory() int64 { return usableMemory("/") }

// usableMemory reads /proc and /sys below root.
func usableMemory(root string) int64 {
	least := int64(math.MaxInt64)
	var machine Use
	if (&Sampler{root: root}).memory(&machine) == nil && machine.TotalMemory > 0 {
		least = machine.TotalMemory
	}
	if os.Getenv("GOMEMLIMIT") != "" {
		least = min(least, debug.SetMemoryLimit(-1))
	}
	read := func(file string) string {
		text, _ := bounded.ReadFile(filepath.Join(root, file), bounded.KernelFile) // without the file there is no limit
		return string(text)
	}
	return min(least, groupMemory(read("proc/self/cgroup"), func(file string) string { return read(path.Join("sys/fs/cgroup", file)) }))
}

// groupMemory returns the least memory limit of a process's cgroups, in bytes. own is its /proc/PID/cgroup; read returns a file of the
// cgroups' folder, "" if there is none.
func groupMemory(own string, read func(file string) string) int64 {
	least := int64(math.MaxInt64)
	for line := range strings.Lines(own) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) != 3 || part[1] != "" && part[1] != "memory" {
			continue
		}
		root, file := "", "memory.max"
		if part[1] == "memory" {
			root, file = "memory", "memory.limit_in_bytes"
		}
		for at := path.Clean("/" + part[2]); ; at = path.Dir(at) {
			if n, err := strconv.ParseInt(strings.TrimSpace(read(path.Join(root, at, file))), 10, 64); err == nil && n > 0 {
				least = min(least, n)
			}
			if at == "/" {
				break
			}
		}
	}
	return least
}
