package claims

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"heddle/internal/bounded"
)

const (
	// patience is how long a process may take to answer. It is longer only if its memory is on a slow swap disk, or if it
	// blocks readers on purpose.
	patience = time.Second

	// maxSilent is how many calls of one user's processes may block at a time. Each holds a thread of this process.
	maxSilent = 4

	// maxEnvironment bounds how much of an environment is looked through. Linux starts no program with more,
	// unless the limit of stacks is raised (RLIMIT_STACK) beyond the usual 8 MB.
	maxEnvironment = 2 << 20

	// window is the part of an environment that is in memory at a time. A variable beyond this size isn't found.
	window = 16 << 10
)

// silent counts the calls that have outlasted their patience, by user.
var silent = struct {
	sync.Mutex
	of map[int]int
}{of: map[int]int{}}

// Ask calls f, which reads something of a process that the process can block, such as its maps. It fails with ErrSilent
// if f takes more than a second, or at once if too many such calls of the same user's processes are blocked. f then
// continues in the background, and its caller must not touch what f uses.
func Ask[T any](pid int, f func() (T, error)) (T, error) { return ask(pid, patience, f) }

func ask[T any](pid int, most time.Duration, f func() (T, error)) (none T, _ error) {
	uid, err := UID(pid)
	if err != nil {
		return none, err
	}
	silent.Lock()
	full := silent.of[uid] >= maxSilent
	silent.Unlock()
	if full {
		return none, fmt.Errorf("process %d of user %d: %w", pid, uid, ErrSilent)
	}
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	var mu sync.Mutex
	var ended, counted bool
	go func() {
		v, err := f()
		done <- outcome{v, err}
		mu.Lock()
		defer mu.Unlock()
		if ended = true; counted {
			count(uid, -1)
		}
	}()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case o := <-done:
		return o.value, o.err
	case <-timer.C:
	}
	mu.Lock()
	defer mu.Unlock()
	if !ended {
		counted = true
		count(uid, 1)
	}
	return none, fmt.Errorf("process %d of user %d: %w", pid, uid, ErrSilent)
}

func count(uid, by int) {
	silent.Lock()
	defer silent.Unlock()
	if silent.of[uid] += by; silent.of[uid] == 0 {
		delete(silent.of, uid)
	}
}

// UID returns the real uid of a process. It belongs to the user that started the program, also if that is set-uid. No
// process can block this.
func UID(pid int) (int, error) {
	b, err := bounded.ReadFile(file(pid, "status"), bounded.KernelFile)
	if err != nil {
		return 0, goneOr(err)
	}
	for line := range strings.Lines(string(b)) {
		if ids, found := strings.CutPrefix(line, "Uid:"); found {
			uid, err := strconv.Atoi(strings.Fields(ids + " x")[0])
			if err != nil {
				return 0, fmt.Errorf("process %d: %w", pid, err)
			}
			return uid, nil
		}
	}
	return 0, fmt.Errorf("process %d: its status has no uid", pid)
}

// CommandLine returns the beginning of a process's command line, at most max bytes, with a NUL after each argument. It is
// empty for kernel threads and zombies.
func CommandLine(pid int, max int64) ([]byte, error) {
	b, err := Ask(pid, func() ([]byte, error) { return bounded.ReadHead(file(pid, "cmdline"), max) })
	return b, goneOr(err)
}

// Environ returns the values of a variable in the environment that a process was started with. It fails with
// fs.ErrPermission for other users' processes unless the caller is root.
func Environ(pid int, name string) (Variable, error) {
	v, err := Ask(pid, func() (Variable, error) {
		e, err := os.Open(file(pid, "environ"))
		if err != nil {
			return Variable{}, err
		}
		defer e.Close()
		return find(e, name)
	})
	return v, goneOr(err)
}

// find looks for a variable in an environment: entries like NAME=value, each with a NUL behind it.
func find(r io.Reader, name string) (v Variable, err error) {
	in := bufio.NewReaderSize(io.LimitReader(r, maxEnvironment), window)
	prefix := []byte(name + "=")
	for v.Blank = true; err == nil; {
		var entry []byte
		entry, err = in.ReadSlice(0)
		v.Blank = v.Blank && len(entry) == 0
		if value, ok := bytes.CutPrefix(entry, prefix); ok && !errors.Is(err, bufio.ErrBufferFull) {
			v.Last = string(bytes.TrimSuffix(value, []byte{0}))
			if !v.Found {
				v.Found, v.First = true, v.Last
			}
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice(0)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return v, err
}

func file(pid int, name string) string { return filepath.Join("/proc", strconv.Itoa(pid), name) }

func goneOr(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return ErrGone
	}
	return err
}
