package pause

import (
	"context"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Exactly waits for d, or until ctx ends, like For. It ends within some 50 µs of its time. Go's timers end up to a millisecond late in a
// process that is idle, as that is the unit in which it waits for events.
func Exactly(ctx context.Context, d time.Duration) error {
	if d <= 0 || ctx.Err() != nil {
		return For(ctx, d)
	}
	t := take()
	if t == nil {
		return For(ctx, d) // there are too many open files
	}
	t.began, t.d, t.set, t.err = time.Now(), d, false, nil
	unless := context.AfterFunc(ctx, func() { _ = t.f.SetReadDeadline(time.Unix(1, 0)) })
	err := t.raw.Read(t.over)
	if !unless() {
		t.f.Close() // its deadline may be set yet
		return context.Cause(ctx)
	}
	if err != nil || t.err != nil {
		t.f.Close()
		return For(ctx, d-time.Since(t.began))
	}
	timers.Put(t)
	return nil
}

// timer is one of the kernel's.
type timer struct {
	f     *os.File
	raw   syscall.RawConn
	over  func(fd uintptr) bool // is it
	began time.Time
	d     time.Duration
	set   bool
	err   error
}

// timers are those that can be used again. One that isn't is closed when it is collected.
var timers sync.Pool

// take returns an unused timer, or nil.
func take() *timer {
	if t, ok := timers.Get().(*timer); ok {
		return t
	}
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil
	}
	t := &timer{f: os.NewFile(uintptr(fd), "timer")}
	t.over = t.look
	if t.raw, err = t.f.SyscallConn(); err != nil {
		t.f.Close()
		return nil
	}
	return t
}

// look sets the timer, and then says whether its time is over whenever the kernel says so: no call is needed for that.
func (t *timer) look(fd uintptr) bool {
	if t.set {
		return time.Since(t.began) >= t.d
	}
	t.set = true
	at := unix.ItimerSpec{Value: unix.NsecToTimespec(t.d.Nanoseconds())}
	t.err = unix.TimerfdSettime(int(fd), 0, &at, nil)
	return t.err != nil
}
