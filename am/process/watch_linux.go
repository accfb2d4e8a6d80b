package process

import (
	"os"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// watch waits for processes and pipes, all in one goroutine. A thread for each process that is waited for, and calls that the runtime is told of because they may block, though
// these don't, would wake threads of the runtime several times for each command.
type watch struct {
	file *os.File // an epoll instance, for which the runtime's own one waits
	fd   int
	over chan struct{}

	mu   sync.Mutex
	last uint64
	of   map[uint64]func() // by a number of their own: that of a descriptor is used again
}

func (w *watch) begin() error {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	if err := unblock(fd); err != nil {
		unix.Close(fd)
		return os.NewSyscallError("fcntl", err)
	}
	w.fd, w.file, w.over, w.of = fd, os.NewFile(uintptr(fd), "epoll"), make(chan struct{}), map[uint64]func(){}
	raw, err := w.file.SyscallConn()
	if err != nil {
		w.file.Close()
		return err
	}
	go func() {
		defer close(w.over)
		events := make([]unix.EpollEvent, 64)
		_ = raw.Read(func(uintptr) bool { // until close
			w.look(events)
			return false
		})
	}()
	return nil
}

// close ends it. Nothing is watched any more.
func (w *watch) close() {
	if w.file != nil {
		w.file.Close()
		<-w.over
	}
}

// look calls the functions of all that has happened.
func (w *watch) look(events []unix.EpollEvent) {
	for {
		n, _, err := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(w.fd),
			uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
		if err == syscall.EINTR {
			continue
		}
		if err != 0 || n == 0 {
			return
		}
		for _, e := range events[:n] {
			id := uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32
			w.mu.Lock()
			f := w.of[id]
			w.mu.Unlock()
			if f != nil {
				f()
			}
		}
	}
}

// add registers a function to call when a descriptor can be read, or has no writer any more. It mustn't wait. id gets a number for remove.
func (w *watch) add(fd int, id *uint64, f func()) error {
	w.mu.Lock()
	w.last++
	*id = w.last
	w.of[*id] = f
	w.mu.Unlock()
	e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(uint32(*id)), Pad: int32(uint32(*id >> 32))}
	if _, _, err := syscall.RawSyscall6(syscall.SYS_EPOLL_CTL, uintptr(w.fd), unix.EPOLL_CTL_ADD, uintptr(fd), uintptr(unsafe.Pointer(&e)), 0, 0); err != 0 {
		w.remove(*id)
		return os.NewSyscallError("epoll_ctl", err)
	}
	return nil
}

// remove has a function not called any more, unless it is about to be. The descriptor leaves the instance when it is closed.
func (w *watch) remove(id uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of, id)
}

// await returns when a process can be reaped. A kernel without pidfds (-1) makes reap wait.
func (w *watch) await(pidfd int) {
	if pidfd < 0 {
		return
	}
	defer shut(pidfd)
	ended := make(chan struct{}, 1)
	var id uint64
	if w.add(pidfd, &id, func() {
		select {
		case ended <- struct{}{}:
		default:
		}
	}) == nil {
		<-ended
		w.remove(id)
	}
}

// reapEnded asks for the status of a process that has ended. It reports false if it hasn't.
func reapEnded(pid int, status *syscall.WaitStatus) bool {
	var raw uint32
	got, _, err := syscall.RawSyscall6(syscall.SYS_WAIT4, uintptr(pid), uintptr(unsafe.Pointer(&raw)), syscall.WNOHANG,
		0, 0, 0)
	*status = syscall.WaitStatus(raw)
	return err == 0 && int(got) == pid
}
