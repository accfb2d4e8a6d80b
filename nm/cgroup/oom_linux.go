package cgroup

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// watch registers an eventfd with the group's memory controller (the kernel's memcg v1 documentation, section 9).
// The kernel notifies before it kills, so that the first look at the counter may come too early.
func (l *legacy) watch(name string, changed func() bool) (stop func(), err error) {
	control, err := os.Open(l.path("memory", name, "memory.oom_control"))
	if err != nil {
		return nil, err
	}
	defer control.Close()
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	events := os.NewFile(uintptr(fd), "out-of-memory events of "+name)
	err = l.tree.write(l.path("memory", name, "cgroup.event_control"), fmt.Sprintf("%d %d", fd, control.Fd()))
	if err != nil {
		events.Close()
		return nil, err
	}
	return follow(events, changed, time.Second), nil
}

// watch asks for modifications of memory.events (the kernel's cgroup v2 documentation, "memory.events").
// They are counted before they are notified of.
func (u *unified) watch(name string, changed func() bool) (stop func(), err error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("inotify: %w", err)
	}
	events := os.NewFile(uintptr(fd), "memory events of "+name)
	if _, err := unix.InotifyAddWatch(fd, u.path(name, "memory.events"), unix.IN_MODIFY); err != nil {
		events.Close()
		return nil, fmt.Errorf("watch %s: %w", u.path(name, "memory.events"), err)
	}
	return follow(events, changed, 0), nil
}

// follow calls changed for everything that can be read from f, and then again until it is true or patience is over. It
// does so until the returned function is called, which returns when no call is running any more.
func follow(f *os.File, changed func() bool, patience time.Duration) (stop func()) {
	quit := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		buffer := make([]byte, 64*(unix.SizeofInotifyEvent+unix.NAME_MAX+1))
		for {
			n, err := f.Read(buffer)
			if err != nil || n < binary.Size(uint64(0)) {
				return
			}
			for wait := time.Millisecond; !changed() && wait < patience; wait *= 2 {
				select {
				case <-quit:
					return
				case <-time.After(wait):
				}
			}
		}
	})
	return func() {
		close(quit)
		f.Close()
		done.Wait()
	}
}
