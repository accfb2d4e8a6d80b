package cgroup

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// watch registers an eventfd with the group's memory controller (the kernel's memcg v1 documentation, section 9).
func (l *legacy) watch(name string, changed func()) (stop func(), err error) {
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
	return follow(events, changed), nil
}

// watch asks for modifications of memory.events (the kernel's cgroup v2 documentation, "memory.events").
func (u *unified) watch(name string, changed func()) (stop func(), err error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("inotify: %w", err)
	}
	events := os.NewFile(uintptr(fd), "memory events of "+name)
	if _, err := unix.InotifyAddWatch(fd, u.path(name, "memory.events"), unix.IN_MODIFY); err != nil {
		events.Close()
		return nil, fmt.Errorf("watch %s: %w", u.path(name, "memory.events"), err)
	}
	return follow(events, changed), nil
}

// follow calls changed for everything that can be read from f, until the returned function is called. That function
// returns when no call is running any more.
func follow(f *os.File, changed func()) (stop func()) {
	var done sync.WaitGroup
	done.Go(func() {
		buffer := make([]byte, 64*(unix.SizeofInotifyEvent+unix.NAME_MAX+1))
		for {
			n, err := f.Read(buffer)
			if err != nil || n < binary.Size(uint64(0)) {
				return
			}
			changed()
		}
	})
	return func() {
		f.Close()
		done.Wait()
	}
}
