package process

import (
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"heddle/internal/clone"
)

// launch has the memory that a new process uses until it executes its program. There is no wait for that: to wait would take a switch to another thread and
// back, while the only processor that this process uses most of the time does nothing.
type launch struct {
	path, dir *byte
	argv, env []*byte
	files     clone.Limit
	calls     []clone.Call
	args      clone.Args
	pidfd     int32
	fault     uintptr
}

// failed says why the process has executed no program, when it has ended.
func (l *launch) failed() error {
	if l == nil {
		return nil
	}
	if errno := syscall.Errno(atomic.LoadUintptr(&l.fault)); errno != 0 {
		return errno
	}
	return nil
}

// unable is set when the kernel doesn't let this program make processes by itself (before Linux 5.5, or by a filter of calls).
var unable atomic.Bool

// begin makes a process for a command. Its streams are files from 0 on.
func begin(path string, args []string, c Command, env []string, files []uintptr) (child, error) {
	if clone.Available && !unable.Load() {
		l, err := newLaunch(path, args, c, env, files)
		if err != nil {
			return child{}, err
		}
		x, errno := l.start(c)
		switch errno {
		case 0:
			return x, nil
		case syscall.ENOSYS, syscall.EINVAL, syscall.EPERM:
			unable.Store(true)
		default:
			return child{}, errno
		}
	}
	return forkExec(path, args, c, env, files)
}

// attributes returns what forkExec asks of package syscall. The process doesn't outlive this one, also if that is killed. (The kernel looks at the thread that forked; Go's threads don't end unless goroutines are locked to them.)
func attributes(group bool, pidfd *int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: group, Pdeathsig: syscall.SIGKILL, PidFD: pidfd}
}

// newLaunch is for a process that does what that of forkExec does.
func newLaunch(path string, args []string, c Command, env []string, files []uintptr) (l *launch, err error) {
	l = &launch{calls: make([]clone.Call, 0, 8+2*len(files)), pidfd: -1}
	if l.path, err = syscall.BytePtrFromString(path); err != nil {
		return nil, err
	}
	if c.Dir != "" {
		if l.dir, err = syscall.BytePtrFromString(c.Dir); err != nil {
			return nil, err
		}
	}
	if l.argv, err = syscall.SlicePtrFromStrings(args); err != nil {
		return nil, err
	}
	if l.env, err = syscall.SlicePtrFromStrings(env); err != nil {
		return nil, err
	}
	l.plan(c, files)
	l.args = clone.Args{
		Flags: unix.CLONE_VM | unix.CLONE_PIDFD | unix.CLONE_CLEAR_SIGHAND, PidFD: uint64(address(&l.pidfd)),
		ExitSignal: uint64(syscall.SIGCHLD),
	}
	return l, nil
}

// start makes the process without waiting.
func (l *launch) start(c Command) (child, syscall.Errno) {
	syscall.ForkLock.Lock()
	pid, errno := clone.Begin(&l.args, l.calls, &l.fault)
	syscall.ForkLock.Unlock()
	runtime.KeepAlive(c)
	if errno != 0 {
		return child{}, syscall.Errno(errno)
	}
	if !c.Attached {
		// A signal to the group may come before the process has made it. It is an error if the process has executed its program.
		_, _, _ = syscall.RawSyscall(syscall.SYS_SETPGID, uintptr(pid), uintptr(pid), 0)
	}
	return child{pid: pid, pidfd: int(l.pidfd), launch: l}, 0
}

// address returns where something lies. Go moves nothing that isn't on a stack, and a launch and what it names never are.
func address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

func (l *launch) call(must clone.Must, trap uintptr, args ...uintptr) {
	c := clone.Call{Trap: trap, Must: must}
	copy(c.Args[:], args)
	l.calls = append(l.calls, c)
}

// plan makes the list of calls.
func (l *launch) plan(c Command, files []uintptr) {
	if !c.Attached {
		l.call(clone.Succeed, syscall.SYS_SETPGID, 0, 0)
	}
	if l.dir != nil {
		l.call(clone.Succeed, syscall.SYS_CHDIR, address(l.dir))
	}
	// As with forkExec the process doesn't outlive this one, nor continues if that has ended meanwhile.
	l.call(clone.Succeed, syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL))
	l.call(clone.Equal, syscall.SYS_GETPPID)
	l.calls[len(l.calls)-1].Want = uintptr(syscall.Getpid())
	l.give(files)
	if files, raised := ownFiles(); raised {
		l.files = files
		l.call(clone.Ignore, syscall.SYS_PRLIMIT64, 0, syscall.RLIMIT_NOFILE, address(&l.files))
	}
	l.call(clone.Succeed, syscall.SYS_EXECVE, address(l.path), address(unsafe.SliceData(l.argv)),
		address(unsafe.SliceData(l.env)))
}

// give makes descriptors those from 0 on. One whose place another one takes earlier goes above all of them first. All others close when the program is executed.
func (l *launch) give(files []uintptr) {
	files = slices.Clone(files)
	above := uintptr(len(files))
	for _, fd := range files {
		above = max(above, fd+1)
	}
	for i, fd := range files {
		if fd < uintptr(i) {
			l.call(clone.Succeed, syscall.SYS_DUP3, fd, above, syscall.O_CLOEXEC)
			files[i] = above
			above++
		}
	}
	for i, fd := range files {
		if fd == uintptr(i) {
			l.call(clone.Succeed, syscall.SYS_FCNTL, fd, syscall.F_SETFD, 0)
		} else {
			l.call(clone.Succeed, syscall.SYS_DUP3, fd, uintptr(i), 0)
		}
	}
}

// ownFiles returns the limit of open files that this program was started with, if package syscall has raised it, as it does for Go programs and not for those that they start.
func ownFiles() (clone.Limit, bool) {
	var l syscall.Rlimit
	own := clone.Files
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return own, false
	}
	return own, own.Soft < l.Cur && l.Cur == l.Max-1 && l.Max == own.Hard
}
