package cgroup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// area is a part of a process's memory.
type area struct{ from, to uint64 }

// pageIn has the kernel read a process's private memory back from swap. A process that has ended is no error.
func pageIn(ctx context.Context, pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	defer unix.Close(fd)
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	areas, err := parseMaps(f)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("/proc/%d/maps: %w", pid, err)
	}
	for _, a := range areas {
		for at := a.from; at < a.to; at += reclaimStep {
			if err := ctx.Err(); err != nil {
				return err
			}
			err := willNeed(fd, area{at, min(a.to, at+reclaimStep)})
			switch {
			case errors.Is(err, unix.ESRCH): // it has just ended
				return nil
			case errors.Is(err, unix.ENOMEM), errors.Is(err, unix.EINVAL): // it has just given the area back
			case err != nil:
				return fmt.Errorf("page in process %d: %w", pid, err)
			}
		}
	}
	return nil
}

// willNeed tells the kernel that a process will soon need a part of its memory.
func willNeed(pidfd int, a area) error {
	v := [2]uintptr{uintptr(a.from), uintptr(a.to - a.from)} // a struct iovec
	_, _, e := unix.Syscall6(unix.SYS_PROCESS_MADVISE, uintptr(pidfd), uintptr(unsafe.Pointer(&v)), 1, unix.MADV_WILLNEED, 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

// parseMaps reads /proc/PID/maps and returns the areas that swap may have parts of: those that are writable and of no file.
func parseMaps(r io.Reader) ([]area, error) {
	var out []area
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 5 {
			return nil, fmt.Errorf("line %q has fewer than 5 fields", lines.Text())
		}
		if !strings.HasPrefix(f[1], "rw") || f[4] != "0" {
			continue
		}
		from, to, _ := strings.Cut(f[0], "-")
		a := area{}
		var err error
		if a.from, err = strconv.ParseUint(from, 16, 64); err == nil {
			a.to, err = strconv.ParseUint(to, 16, 64)
		}
		if err != nil || a.from >= a.to {
			return nil, fmt.Errorf("%q is no range of addresses", f[0])
		}
		out = append(out, a)
	}
	if err := lines.Err(); err != nil && !errors.Is(err, syscall.ESRCH) {
		return nil, err
	}
	return out, nil
}
