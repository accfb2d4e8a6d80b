package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"heddle/internal/bounded"
)

// userHZ is the unit of times in /proc/PID/stat; it is fixed in Linux's ABI, whatever the kernel's own tick.
const userHZ = 100

// Root is where the process table is mounted.
const Root = "/proc"

// Snapshot reads the table of all processes. It omits those that end while it reads, and those that it may not see (hidepid=, proc(5)).
func Snapshot() (*Table, error) {
	pids, err := PIDs()
	if err != nil {
		return nil, err
	}
	var all []Process
	for _, pid := range pids {
		p, err := Read(pid)
		if err != nil {
			if errors.Is(err, ErrGone) || errors.Is(err, fs.ErrPermission) {
				continue
			}
			return nil, err
		}
		all = append(all, p)
	}
	return newTable(all), nil
}

// PIDs returns those of all processes.
func PIDs() ([]int, error) {
	dir, err := os.Open(Root)
	if err != nil {
		return nil, fmt.Errorf("read the process table: %w", err)
	}
	names, err := dir.Readdirnames(-1)
	dir.Close()
	if err != nil {
		return nil, fmt.Errorf("read the process table: %w", err)
	}
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// Read returns one process, or ErrGone.
func Read(pid int) (Process, error) {
	b, err := bounded.ReadFile(filepath.Join(Root, strconv.Itoa(pid), "stat"), bounded.KernelFile)
	if err != nil {
		return Process{}, goneOr(pid, err)
	}
	p, err := parseStat(b)
	if err != nil {
		return Process{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return p, nil
}

// PeakMemory returns the most memory that a process has had resident, in bytes. It is 0 for kernel threads and zombies.
func PeakMemory(pid int) (int64, error) {
	b, err := bounded.ReadFile(filepath.Join(Root, strconv.Itoa(pid), "status"), bounded.KernelFile)
	if err != nil {
		return 0, goneOr(pid, err)
	}
	for line := range strings.Lines(string(b)) {
		if kB, found := strings.CutPrefix(line, "VmHWM:"); found {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(kB), " kB"), 10, 64)
			return n << 10, err
		}
	}
	return 0, nil
}

// Signal sends sig to exactly the process that id names. It returns ErrGone if that process has ended.
func Signal(id ID, sig syscall.Signal) error {
	fd, err := open(id)
	if errors.Is(err, unix.ENOSYS) {
		return signalByNumber(id, sig)
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.PidfdSendSignal(fd, sig, nil, 0); err != nil {
		return goneOr(id.PID, fmt.Errorf("signal %v to process %d: %w", sig, id.PID, err))
	}
	return nil
}

// WaitExit returns nil when the process that id names has ended (it may still be a zombie), or the error of ctx. It
// works for any process, not only for children.
func WaitExit(ctx context.Context, id ID) error {
	fd, err := open(id)
	if errors.Is(err, ErrGone) {
		return nil
	}
	if errors.Is(err, unix.ENOSYS) {
		return waitByLooking(ctx, id)
	}
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), "pidfd of "+strconv.Itoa(id.PID))
	defer f.Close()
	stop := context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Unix(0, 1)) })
	defer stop()
	conn, err := f.SyscallConn()
	if err != nil {
		return fmt.Errorf("wait for process %d: %w", id.PID, err)
	}
	// A pidfd becomes readable at the end of its process; there is nothing to read from it.
	var polled error
	err = conn.Read(func(fd uintptr) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		if err != nil && err != unix.EINTR {
			polled = err
			return true
		}
		return n > 0
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err = errors.Join(err, polled); err != nil {
		return fmt.Errorf("wait for process %d: %w", id.PID, err)
	}
	return nil
}

// pidfdOpen is the system call. A test replaces it to act like an older kernel.
var pidfdOpen = unix.PidfdOpen

// open returns a pidfd of exactly the process that id names, or ENOSYS before Linux 5.3.
func open(id ID) (int, error) {
	fd, err := pidfdOpen(id.PID, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.EINVAL) { // before Linux 5.10
		if fd, err = pidfdOpen(id.PID, 0); err == nil {
			if err = unix.SetNonblock(fd, true); err != nil {
				unix.Close(fd)
			}
		}
	}
	if err != nil {
		return -1, goneOr(id.PID, fmt.Errorf("open process %d: %w", id.PID, err))
	}
	// The descriptor now pins the pid. So a start time that is read from here on belongs to it.
	p, err := Read(id.PID)
	if err == nil && id.Start != 0 && p.Start != id.Start {
		err = fmt.Errorf("process %d: %w", id.PID, ErrGone)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// signalByNumber is Signal for kernels without pidfds. The pid may become another process's between check and signal.
func signalByNumber(id ID, sig syscall.Signal) error {
	p, err := Read(id.PID)
	if err == nil && id.Start != 0 && p.Start != id.Start {
		err = fmt.Errorf("process %d: %w", id.PID, ErrGone)
	}
	if err != nil {
		return err
	}
	if err := unix.Kill(id.PID, sig); err != nil {
		return goneOr(id.PID, fmt.Errorf("signal %v to process %d: %w", sig, id.PID, err))
	}
	return nil
}

// lookInterval is the time between two checks of waitByLooking.
const lookInterval = 50 * time.Millisecond

// waitByLooking is WaitExit for kernels without pidfds.
func waitByLooking(ctx context.Context, id ID) error {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		p, err := Read(id.PID)
		if errors.Is(err, ErrGone) || err == nil && (id.Start != 0 && p.Start != id.Start || p.Dead()) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// BootID identifies this run of the kernel. Process ids of other runs mean nothing.
func BootID() (string, error) {
	b, err := bounded.ReadFile(filepath.Join(Root, "sys/kernel/random/boot_id"), bounded.KernelFile)
	if err != nil {
		return "", fmt.Errorf("read the boot id: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

func goneOr(pid int, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	return err
}

var pageSize = int64(os.Getpagesize())

// parseStat parses /proc/PID/stat (proc_pid_stat(5)). The command name is in brackets, and may itself contain brackets,
// spaces and line ends.
func parseStat(b []byte) (Process, error) {
	open, shut := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || shut < open {
		return Process{}, fmt.Errorf("stat line %q has no command name", b)
	}
	var p Process
	var err error
	if p.PID, err = strconv.Atoi(strings.TrimSpace(string(b[:open]))); err != nil {
		return Process{}, fmt.Errorf("stat line %q: %w", b, err)
	}
	f := strings.Fields(string(b[shut+1:])) // f[0] is field 3 of the manual page
	const last = 24 - 3
	if len(f) <= last || len(f[0]) != 1 {
		return Process{}, fmt.Errorf("stat line %q has %d fields after the name", b, len(f))
	}
	p.State = f[0][0]
	var user, system, pages int64
	for _, field := range []struct {
		number int
		to     any
	}{
		{4, &p.Parent},
		{5, &p.Group},
		{6, &p.Session},
		{14, &user},
		{15, &system},
		{22, &p.Start},
		{23, &p.Virtual},
		{24, &pages},
	} {
		text := f[field.number-3]
		switch to := field.to.(type) {
		case *int:
			*to, err = strconv.Atoi(text)
		case *int64:
			*to, err = strconv.ParseInt(text, 10, 64)
		case *uint64:
			*to, err = strconv.ParseUint(text, 10, 64)
		}
		if err != nil {
			return Process{}, fmt.Errorf("field %d of stat line %q: %w", field.number, b, err)
		}
	}
	p.User = time.Duration(user) * (time.Second / userHZ)
	p.CPU = p.User + time.Duration(system)*(time.Second/userHZ)
	p.RSS = pages * pageSize
	return p, nil
}
