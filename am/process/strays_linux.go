package process

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"heddle/internal/bounded"
	"heddle/internal/claims"
)

// Strays are processes that have left their command's group, as daemons do. When their parent ends they become children of this
// process. A stray is known by the variable in its environment. One without it is killed as soon as every command that it may belong
// to has ended: those that ran when it was seen first.

// sweepEvery bounds how long a stray outlives its command, and how often is looked for strays.
const sweepEvery = 50 * time.Millisecond

type strays struct {
	mu     sync.Mutex
	seen   map[int]uint64 // by process: it belongs to a command up to this one
	timer  *time.Timer
	closed bool
	group  int // of this process
	all    bool
}

// OwnAll says that only the Runner starts processes here. So all children are its commands', those too that are in this process's group, as attached
// commands are, and have another environment. It comes before the first command.
func (r *Runner) OwnAll() { r.strays.all = true }

func (s *strays) begin() {
	s.seen, s.group = map[int]uint64{}, syscall.Getpgrp()
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // without it, daemons are ignored
	quieten()
}

// quieten stops signals at the end of children, as in a program that doesn't ask for them: they are noticed otherwise (watch). Go takes all signals,
// and a thread would wake up for each end. signal.Notify has it sent again. An error leaves it as it was.
func quieten() {
	var byDefault [32]byte // a sigaction of the kernel's
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGCHLD),
		uintptr(unsafe.Pointer(&byDefault)), 0, 8, 0, 0)
}

// sweepSoon makes a sweep happen, some time after commands have ended.
func (r *Runner) sweepSoon() {
	s := &r.strays
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer == nil && !s.closed {
		s.timer = time.AfterFunc(sweepEvery, func() {
			s.mu.Lock()
			s.timer = nil
			s.mu.Unlock()
			if r.sweep() > 0 {
				r.sweepSoon()
			}
		})
	}
}

// sweep kills strays whose commands have ended, and reaps those that are dead. It returns how many strays there are.
func (r *Runner) sweep() int {
	s := &r.strays
	s.mu.Lock()
	defer s.mu.Unlock()
	starting.Lock()
	defer starting.Unlock()
	list := children()
	r.mu.Lock()
	last, oldest := r.last, r.last+1
	for id := range r.running {
		oldest = min(oldest, id)
	}
	r.mu.Unlock()
	now := make(map[int]uint64, len(s.seen))
	for _, pid := range list {
		firstMu.Lock()
		own := first[pid]
		firstMu.Unlock()
		if own {
			continue
		}
		group, err := syscall.Getpgid(pid)
		if err != nil {
			continue
		}
		id, marked := r.mark(pid)
		if !marked && group == s.group && !s.all || marked && id == 0 {
			continue // another's
		}
		upTo, known := s.seen[pid]
		if !known {
			upTo = last
		}
		ended := upTo < oldest
		if marked {
			ended = !r.runs(id)
		}
		if ended {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			if got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil); err != nil || got == pid {
				continue
			}
		}
		now[pid] = upTo
	}
	s.seen = now
	return len(now)
}

// runs reports whether a command is running.
func (r *Runner) runs(id uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running[id]
}

// mark returns the command that a process belongs to, by its environment; 0 for one of another Runner.
func (r *Runner) mark(pid int) (id uint64, ok bool) {
	v, err := claims.Environ(pid, Variable)
	if err != nil || !v.Found {
		return 0, false
	}
	// The last one counts, where a command runs within another.
	number, ours := strings.CutPrefix(v.Last, r.prefix)
	if id, err = strconv.ParseUint(number, 10, 64); err != nil || !ours {
		id = 0
	}
	return id, true
}

// closeStrays kills all strays. It gives up on those that can't be killed, such as one that waits for a disk.
func (r *Runner) closeStrays() {
	s := &r.strays
	s.mu.Lock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	s.mu.Unlock()
	for end := time.Now().Add(time.Second); r.sweep() > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// children returns the process ids of this process's children.
func children() (pids []int) {
	self := strconv.Itoa(os.Getpid())
	list, err := bounded.ReadFile("/proc/self/task/"+self+"/children", bounded.KernelList)
	if err != nil {
		return nil
	}
	for f := range strings.FieldsSeq(string(list)) {
		if pid, err := strconv.Atoi(f); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
