package pause

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Exactly waits for d, or until ctx ends, like For. It ends within some 50 µs of its time. Go's timers end up to a millisecond late in a
// process that is idle, as that is the unit in which it waits for events.
func Exactly(ctx context.Context, d time.Duration) error {
	if d <= 0 || ctx.Err() != nil {
		return For(ctx, d)
	}
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return For(ctx, d) // there are too many open files
	}
	f := os.NewFile(uintptr(fd), "timer")
	defer f.Close()
	at := unix.ItimerSpec{Value: unix.NsecToTimespec(d.Nanoseconds())}
	if err := unix.TimerfdSettime(fd, 0, &at, nil); err != nil {
		return For(ctx, d)
	}
	defer context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })()
	var expirations [8]byte
	if _, err := f.Read(expirations[:]); err != nil && ctx.Err() == nil {
		return For(ctx, d)
	}
	return context.Cause(ctx)
}
