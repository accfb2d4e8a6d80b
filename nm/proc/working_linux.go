package proc

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// Working reports whether a thread of one of the processes runs, waits for a processor, or waits for a disk, such as for memory that was paged
// out. Those of processes that have ended don't.
func Working(pids []int) bool {
	for _, pid := range pids {
		dir := filepath.Join(Root, strconv.Itoa(pid), "task")
		f, err := os.Open(dir)
		if err != nil {
			continue
		}
		names, _ := f.Readdirnames(-1)
		f.Close()
		for _, name := range names {
			if stat, err := os.ReadFile(filepath.Join(dir, name, "stat")); err == nil && works(stat) {
				return true
			}
		}
	}
	return false
}

// works reports whether a line of a thread's stat says that it runs or waits for a disk. The state stands behind the name, which may have
// parentheses in it.
func works(stat []byte) bool {
	i := bytes.LastIndexByte(stat, ')')
	return i >= 0 && i+2 < len(stat) && (stat[i+2] == 'R' || stat[i+2] == 'D')
}
