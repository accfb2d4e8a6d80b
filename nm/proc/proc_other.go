//go:build !linux

package proc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Snapshot asks ps for the table of all processes.
func Snapshot() (*Table, error) {
	out, err := exec.Command("ps", "-axo", "pid=,ppid=,pgid=,sess=,state=,rss=,vsz=,time=").Output()
	if err != nil {
		return nil, fmt.Errorf("read the process table: ps: %w", err)
	}
	var all []Process
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) != 8 {
			continue
		}
		p := Process{State: f[4][0]}
		p.PID, _ = strconv.Atoi(f[0])
		p.Parent, _ = strconv.Atoi(f[1])
		p.Group, _ = strconv.Atoi(f[2])
		p.Session, _ = strconv.Atoi(f[3])
		rss, _ := strconv.ParseInt(f[5], 10, 64)
		virtual, _ := strconv.ParseInt(f[6], 10, 64)
		p.RSS, p.Virtual = rss<<10, virtual<<10
		for _, part := range strings.Split(f[7], ":") {
			n, _ := strconv.ParseFloat(part, 64)
			p.CPU = 60*p.CPU + time.Duration(n*float64(time.Second))
		}
		all = append(all, p)
	}
	return newTable(all), nil
}

// Read returns one process, or ErrGone.
func Read(pid int) (Process, error) {
	t, err := Snapshot()
	if err != nil {
		return Process{}, err
	}
	p, ok := t.Get(pid)
	if !ok {
		return Process{}, fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	return p, nil
}

// PIDs returns those of all processes.
func PIDs() ([]int, error) {
	t, err := Snapshot()
	if err != nil {
		return nil, err
	}
	return slices.Collect(maps.Keys(t.byPID)), nil
}

// PeakMemory is not supported here.
func PeakMemory(int) (int64, error) { return 0, errors.ErrUnsupported }

// Signal sends sig to a process. It returns ErrGone when that process has ended.
func Signal(id ID, sig syscall.Signal) error {
	err := syscall.Kill(id.PID, sig)
	if errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("process %d: %w", id.PID, ErrGone)
	}
	return err
}

// WaitExit returns nil when the process has ended, or the error of ctx.
func WaitExit(ctx context.Context, id ID) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		if p, err := Read(id.PID); errors.Is(err, ErrGone) || err == nil && p.Dead() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// BootID is not supported here.
func BootID() (string, error) { return "", nil }

// BecomeSubreaper is not supported here.
func BecomeSubreaper() error { return errors.ErrUnsupported }

// Reap does nothing here.
func Reap(ctx context.Context, _ time.Duration) { <-ctx.Done() }

// NotSpared does nothing here.
func NotSpared(int) error { return nil }
