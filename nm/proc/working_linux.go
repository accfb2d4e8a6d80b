package proc

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"heddle/internal/bounded"
)

// Working reports whether a thread of one of the processes runs, waits for a processor, or waits for a disk, such as for memory that was paged
// out. Those of processes that have ended don't.
func Working(pids []int) bool { return anyThread(pids, "RD") }

// Running reports whether a thread of one of the processes runs, or waits for a processor.
func Running(pids []int) bool { return anyThread(pids, "R") }

// anyThread reports whether a thread of one of the processes is in one of some states.
func anyThread(pids []int, states string) bool {
	for _, pid := range pids {
		if threadOf(pid, states) {
			return true
		}
	}
	return false
}

func threadOf(pid int, states string) bool {
	dir := filepath.Join(Root, strconv.Itoa(pid), "task")
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer f.Close()
	for {
		names, err := f.Readdirnames(1024) // a process may have many thousands
		for _, name := range names {
			stat, err := bounded.ReadFile(filepath.Join(dir, name, "stat"), bounded.KernelFile)
			if err == nil && strings.IndexByte(states, stateOf(stat)) >= 0 {
				return true
			}
		}
		if err != nil {
			return false
		}
	}
}

// stateOf returns the state in a line of a thread's stat, or 0. It stands behind the name, which may have parentheses in it.
func stateOf(stat []byte) byte {
	if i := bytes.LastIndexByte(stat, ')'); i >= 0 && i+2 < len(stat) {
		return stat[i+2]
	}
	return 0
}
