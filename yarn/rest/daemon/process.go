package daemon

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// ownLoad measures the share of the machine's processors that this process uses. The zero value is ready for use.
type ownLoad struct {
	mu   sync.Mutex
	at   time.Time
	used time.Duration
}

// load returns the share since the previous call, from 0 to 1. used is the processor time since the process began.
func (l *ownLoad) load(used time.Duration, now time.Time) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	passed, more := now.Sub(l.at), used-l.used
	first := l.at.IsZero()
	l.at, l.used = now, used
	if first || passed <= 0 {
		return 0
	}
	return min(1, float64(more)/float64(passed)/float64(runtime.NumCPU()))
}

// openFiles returns the number of open files, or 0 if the machine doesn't say.
func openFiles() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries) - 1 // the folder itself is open as well
}

// maxFiles returns the limit of open files.
func maxFiles() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return uint64(limit.Cur)
}

// committed returns the size of the process's address space in bytes, or 0 if the machine doesn't say.
func committed() int64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, _, _ := strings.Cut(string(b), " ")
	n, err := strconv.ParseInt(pages, 10, 64)
	if err != nil {
		return 0
	}
	return n * int64(os.Getpagesize())
}
