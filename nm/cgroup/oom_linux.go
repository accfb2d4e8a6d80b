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

// follow calls changed for everything that can be read from f, and then again until it is true or patience is over. It
// does so until the returned function is called, which returns when no call is running any more.
func follow(f *os.File, changed func() bool, patience time.Duration) (stop func()) {
	quit := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		buffer := make([]byte, binary.Size(uint64(0)))
		for {
			n, err := f.Read(buffer)
			if err != nil || n < len(buffer) {
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

// watch asks for modifications of memory.events (the kernel's cgroup v2 documentation, "memory.events").
// They are counted before they are notified of.
func (u *unified) watch(name string, changed func() bool) (stop func(), err error) {
	return u.events.watch(u.path(name, "memory.events"), changed), nil
}

// watching follows all files there are to follow by one inotify instance: a user has no more than 128 of these by default
// (/proc/sys/fs/inotify/max_user_instances), and other programs need some. Groups that the kernel can't watch are polled.
type watching struct {
	mu      sync.Mutex
	events  *os.File // nil: nothing is watched, or there is no instance to be had
	fd      int
	ended   sync.WaitGroup
	files   map[int]map[*watched]struct{} // by watch descriptor; −1: looked at regularly
	looking chan struct{}                 // closed to end looking; nil: not looking
}

// watched is one file, for one who wants to know.
type watched struct {
	descriptor int
	changed    func() bool
}

// lookInterval is how often files are looked at that the kernel doesn't notify of.
const lookInterval = time.Second

// init1 makes an inotify instance. A test makes it fail.
var init1 = unix.InotifyInit1

// watch calls changed from another goroutine when the file has changed, or may have, until the returned function is
// called. That returns when no call is running any more.
func (w *watching) watch(path string, changed func() bool) (stop func()) {
	var calling sync.Mutex // held during a call
	stopped := false
	f := &watched{changed: func() bool {
		calling.Lock()
		defer calling.Unlock()
		return !stopped && changed()
	}}
	w.mu.Lock()
	w.add(path, f)
	w.mu.Unlock()
	return func() {
		w.remove(f)
		calling.Lock()
		defer calling.Unlock()
		stopped = true
	}
}

// add watches a file. The lock is held.
func (w *watching) add(path string, f *watched) {
	f.descriptor = -1
	if w.open() {
		// A file that is watched already has its descriptor.
		if d, err := unix.InotifyAddWatch(w.fd, path, unix.IN_MODIFY); err == nil {
			f.descriptor = d
		}
	}
	if w.files == nil {
		w.files = make(map[int]map[*watched]struct{})
	}
	if w.files[f.descriptor] == nil {
		w.files[f.descriptor] = make(map[*watched]struct{})
	}
	w.files[f.descriptor][f] = struct{}{}
	if f.descriptor < 0 && w.looking == nil {
		w.looking = make(chan struct{})
		quit := w.looking
		w.ended.Go(func() { w.look(quit) })
	}
}

// open makes the instance if there is none. The lock is held.
func (w *watching) open() bool {
	if w.events != nil {
		return true
	}
	fd, err := init1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return false
	}
	events := os.NewFile(uintptr(fd), "memory events")
	w.fd, w.events = fd, events
	w.ended.Go(func() { w.read(events) })
	return true
}

// remove ends the watch of a file, and what is there for the last.
func (w *watching) remove(f *watched) {
	w.mu.Lock()
	delete(w.files[f.descriptor], f)
	if len(w.files[f.descriptor]) > 0 {
		w.mu.Unlock()
		return
	}
	delete(w.files, f.descriptor)
	if f.descriptor >= 0 {
		_, _ = unix.InotifyRmWatch(w.fd, uint32(f.descriptor)) // it is gone if its group is
	} else {
		close(w.looking)
		w.looking = nil
	}
	events := w.events
	if len(w.files) == 0 {
		w.events = nil
	} else {
		events = nil
	}
	w.mu.Unlock()
	if events != nil {
		events.Close()
	}
}

// read tells of what the kernel notifies of.
func (w *watching) read(events *os.File) {
	buffer := make([]byte, 64*(unix.SizeofInotifyEvent+unix.NAME_MAX+1))
	for {
		n, err := events.Read(buffer)
		if err != nil {
			return
		}
		for at := 0; at+unix.SizeofInotifyEvent <= n; {
			descriptor := int(int32(binary.NativeEndian.Uint32(buffer[at:])))
			mask := binary.NativeEndian.Uint32(buffer[at+4:])
			at += unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(buffer[at+12:]))
			w.tell(func(d int) bool { return d == descriptor || mask&unix.IN_Q_OVERFLOW != 0 })
		}
	}
}

// look tells of everything that the kernel doesn't notify of, regularly.
func (w *watching) look(quit chan struct{}) {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		select {
		case <-quit:
			return
		case <-tick.C:
			w.tell(func(d int) bool { return d < 0 })
		}
	}
}

// tell calls the watchers of these descriptors.
func (w *watching) tell(of func(descriptor int) bool) {
	w.mu.Lock()
	var all []*watched
	for d, files := range w.files {
		if of(d) {
			for f := range files {
				all = append(all, f)
			}
		}
	}
	w.mu.Unlock()
	for _, f := range all {
		f.changed()
	}
}

// close returns when no goroutine is left. Nothing may be watched any more.
func (w *watching) close() { w.ended.Wait() }
