package cgroup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"heddle/internal/bounded"
	"heddle/internal/claims"
)

// area is a part of a process's memory.
type area struct{ from, to uint64 }

// errEnough ends advise before it is through.
var errEnough = errors.New("enough")

// pageIn makes the kernel read a process's memory back from swap, also what it shares with others. A process that has ended is no error.
func pageIn(ctx context.Context, pid int) error {
	err := advise(ctx, pid, unix.MADV_WILLNEED, true, 0, func(area) error { return nil })
	if err != nil {
		return fmt.Errorf("page in process %d: %w", pid, err)
	}
	return nil
}

// pageOut makes the kernel page a process's private memory out from an address on, until enough says errEnough. at is the address up to
// which it has got then. Pages that several processes share stay. A process that has ended is no error, and neither is a kernel that can't
// (before Linux 5.10).
func pageOut(ctx context.Context, pid int, from uint64, enough func() error) (at uint64, err error) {
	var got atomic.Uint64
	err = advise(ctx, pid, unix.MADV_PAGEOUT, false, from, func(done area) error {
		err := enough()
		for was := got.Load(); was < done.to && !got.CompareAndSwap(was, done.to); was = got.Load() {
		}
		return err
	})
	if err != nil && !errors.Is(err, errEnough) {
		return 0, fmt.Errorf("page out process %d: %w", pid, err)
	}
	return got.Load(), err
}

// advise tells the kernel what will happen to a process's private memory from an address on, and to what it shares if shared is set. It calls then after
// each part.
func advise(ctx context.Context, pid, advice int, shared bool, from uint64, then func(done area) error) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	// A process can block readers of its maps. Then its memory stays where it is.
	areas, err := claims.Ask(pid, func() ([]area, error) { return mapsOf(pid, shared) })
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) || errors.Is(err, claims.ErrGone) || errors.Is(err, claims.ErrSilent) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("/proc/%d/maps: %w", pid, err)
	}
	return inPieces(beyond(areas, from), func(piece area) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := processMadvise(fd, piece, advice)
		switch {
		case errors.Is(err, unix.ESRCH), errors.Is(err, unix.ENOSYS): // it has just ended, or the kernel is old
			return errGone
		case errors.Is(err, unix.ENOMEM), errors.Is(err, unix.EINVAL): // it has just given the area back
		case err != nil:
			return err
		}
		return then(piece)
	})
}

// mapsOf reads the areas of a process that parseMaps returns.
func mapsOf(pid int, shared bool) ([]area, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parseMaps(f, shared)
}

// beyond returns what lies at an address or above of areas in ascending order.
func beyond(areas []area, from uint64) []area {
	for len(areas) > 0 && areas[0].to <= from {
		areas = areas[1:]
	}
	if len(areas) > 0 {
		areas[0].from = max(areas[0].from, from)
	}
	return areas
}

// errGone says that a process has ended.
var errGone = errors.New("gone")

// adviceAtOnce returns how many pieces are worked on at once. Where all swap is compressed memory, the processors take longest; a disk takes
// longer where several write.
func adviceAtOnce() int {
	text, err := bounded.ReadFile("/proc/swaps", bounded.KernelFile)
	_, list, _ := strings.Cut(string(text), "\n")
	if err != nil || list == "" {
		return 1
	}
	for line := range strings.Lines(list) {
		if !strings.HasPrefix(line, "/dev/zram") {
			return 1
		}
	}
	return min(2, runtime.NumCPU())
}

// inPieces calls f for each piece of some areas, several at once, until one fails. errGone is no error.
func inPieces(areas []area, f func(area) error) error {
	adviceAtOnce := adviceAtOnce()
	pieces := make(chan area)
	failed := make(chan error, adviceAtOnce)
	for range adviceAtOnce {
		go func() {
			var err error
			for p := range pieces {
				if err = f(p); err != nil {
					break
				}
			}
			failed <- err // there is room
		}()
	}
	var first error
	working := adviceAtOnce
	ended := func(err error) {
		working--
		if first == nil {
			first = err
		}
	}
hand:
	for _, a := range areas {
		for at := a.from; at < a.to; at += advicePiece {
			select {
			case pieces <- area{at, min(a.to, at+advicePiece)}:
			case err := <-failed:
				ended(err)
				break hand
			}
		}
	}
	close(pieces)
	for working > 0 {
		ended(<-failed)
	}
	if errors.Is(first, errGone) {
		return nil
	}
	return first
}

// advicePiece is how many bytes one call of the kernel is about: it takes some 20 ms.
const advicePiece = 16 << 20

// processMadvise tells the kernel what will happen to a part of a process's memory.
func processMadvise(pidfd int, a area, advice int) error {
	v := [2]uintptr{uintptr(a.from), uintptr(a.to - a.from)} // a struct iovec
	_, _, e := unix.Syscall6(unix.SYS_PROCESS_MADVISE, uintptr(pidfd), uintptr(unsafe.Pointer(&v)), 1, uintptr(advice), 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

// memoryFiles are the beginnings of the names of files that are in memory, and in swap: those without a name of their own, and those that processes share.
var memoryFiles = []string{"/dev/zero", "/memfd:", "/SYSV", "/dev/shm/"}

// parseMaps reads /proc/PID/maps and returns the areas that may be in swap: those that are writable and of no file, and if shared is set those of
// memoryFiles.
func parseMaps(r io.Reader, shared bool) ([]area, error) {
	var out []area
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 5 {
			return nil, fmt.Errorf("line %q has fewer than 5 fields", lines.Text())
		}
		of := func(prefix string) bool { return len(f) > 5 && strings.HasPrefix(f[5], prefix) }
		if !strings.HasPrefix(f[1], "rw") || f[4] != "0" && !(shared && slices.ContainsFunc(memoryFiles, of)) {
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
