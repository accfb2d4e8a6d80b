package worker

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"heddle/internal/bounded"
	"heddle/internal/claims"
)

// ended is closed when a child has ended, which remains to be waited for.
func ended(pid int) <-chan struct{} {
	c := make(chan struct{})
	go func() {
		defer close(c)
		for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR { //nolint:errorlint // an errno as it is
		}
	}()
	return c
}

// failed reports whether a child that has ended, and wasn't waited for, has done so with an exit status other than 0, or by a signal.
func failed(pid int) bool {
	b, err := bounded.ReadFile(fmt.Sprintf("/proc/%d/stat", pid), bounded.KernelFile)
	if err != nil {
		return false
	}
	fields := bytes.Fields(b)
	return string(fields[len(fields)-1]) != "0"
}

// holders returns the processes, other than this one, that have the other ends of pipes open.
func holders(pipes ...*os.File) (by []holder) {
	var wanted []string
	for _, p := range pipes {
		c, err := p.SyscallConn()
		if err != nil {
			continue
		}
		_ = c.Control(func(fd uintptr) {
			if name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); err == nil {
				wanted = append(wanted, name)
			}
		}) // an error if it is closed: no process can hold it up then
	}
	tables, _ := filepath.Glob("/proc/[0-9]*/fd") // its pattern is right
	for _, table := range tables {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(table)))
		if err != nil || pid == os.Getpid() || !opens(table, wanted) {
			continue
		}
		group, err := syscall.Getpgid(pid)
		if err != nil {
			continue // it has just ended
		}
		by = append(by, holder{pid, group, commandLine(pid)})
	}
	return by
}

// opens reports whether a process has one of some files open. It doesn't see those of other users' processes.
func opens(table string, wanted []string) bool {
	f, err := os.Open(table)
	if err != nil {
		return false
	}
	defer f.Close()
	for {
		fds, err := f.Readdirnames(1024)
		for _, fd := range fds {
			name, err := os.Readlink(filepath.Join(table, fd))
			if err == nil && slices.Contains(wanted, name) {
				return true
			}
		}
		if err != nil {
			return false
		}
	}
}

// maxCommandLine is how much of a process's command line is told, in characters.
const maxCommandLine = 100

func commandLine(pid int) string {
	b, err := claims.CommandLine(pid, 4*maxCommandLine+4)
	if err != nil || len(b) == 0 {
		return "unknown"
	}
	line := []rune(strings.ToValidUTF8(strings.ReplaceAll(strings.TrimRight(string(b), "\x00"), "\x00", " "), "?"))
	if len(line) > maxCommandLine {
		line = append(line[:maxCommandLine], '…')
	}
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, string(line))
}
