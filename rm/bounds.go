package rm

import (
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"heddle/conf"
	"heddle/rm/ledger/limit"
)

// bounds says how much requests may leave behind in the ledger.
func bounds(c *conf.Config) limit.Bounds {
	b := limit.Standard(usableMemory(), int64(c.Int("heddle.applications.max-mb"))<<20, c.Int("heddle.applications.max-user-percent"))
	b.TokensOfOwner, b.Tokens = c.Int("heddle.delegation-tokens.max-per-owner"), c.Int("heddle.delegation-tokens.max")
	return b
}

// usableMemory returns how many bytes of memory this process may use: the machine's, or what its cgroups or GOMEMLIMIT leave it.
func usableMemory() int64 {
	least := int64(math.MaxInt64)
	var machine unix.Sysinfo_t
	if unix.Sysinfo(&machine) == nil {
		least = int64(machine.Totalram) * int64(machine.Unit)
	}
	if os.Getenv("GOMEMLIMIT") != "" {
		least = min(least, debug.SetMemoryLimit(-1))
	}
	own, _ := os.ReadFile("/proc/self/cgroup")
	return min(least, groupMemory(string(own), func(file string) string {
		text, _ := os.ReadFile(path.Join("/sys/fs/cgroup", file))
		return string(text)
	}))
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
