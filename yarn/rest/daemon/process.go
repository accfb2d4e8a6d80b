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

// ownLoad is the part of the machine's processors that this process uses. The zero value is ready for use.
type ownLoad struct {
	mu   sync.Mutex
	at   time.Time
	used time.Duration
}

// load is from the last look on, 0 to 1; used is the processor time since the process began.
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

// openFiles is the number of open files; 0 where the machine doesn't tell.
func openFiles() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries) - 1 // the folder itself is open as well
}

// maxFiles is how many files may be open.
func maxFiles() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return uint64(limit.Cur)
}

// committed is the size of the process's address space in bytes; 0 where the machine doesn't tell.
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
