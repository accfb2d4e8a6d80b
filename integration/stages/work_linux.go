package stages

import (
	"fmt"
	"path/filepath"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Do does the processor's and the disk's part of the work for a line, in a folder on that disk.
func (w Work) Do(folder string) error {
	burn(w.CPU)
	if w.Disk <= 0 {
		return nil
	}
	// Past the page cache: only what a process writes itself counts for its group (cgroups of version 1).
	name := filepath.Join(folder, "line")
	fd, err := unix.Open(name, unix.O_CREAT|unix.O_WRONLY|unix.O_DIRECT|unix.O_SYNC|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("%s, past the page cache: %w", name, err)
	}
	defer unix.Close(fd)
	const page = 4096
	b := make([]byte, (w.Disk+2*page-1)/page*page)
	skip := int(-uintptr(unsafe.Pointer(&b[0])) & (page - 1)) // O_DIRECT wants whole pages
	if _, err := unix.Pwrite(fd, b[skip:skip+len(b)-page], 0); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// burn uses so much of a core, however long that takes.
func burn(d time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := func() time.Duration {
		var t unix.Timespec
		if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
			return 1 << 62
		}
		return time.Duration(t.Nano())
	}
	for begun := used(); used()-begun < d; {
	}
}
