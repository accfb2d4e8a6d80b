package shorttasks

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"heddle/internal/await"
	"heddle/nm/proc"
	"heddle/yarn/wire"
)

// An executor with tasks that a signal has stopped ends, and its tasks run again. One that goes on, or has no tasks, stays.
func TestStoppedExecutorsEnd(t *testing.T) {
	l := newLab(t, 2)
	process := exec.Command("sleep", "1000")
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	})
	l.pid = process.Process.Pid
	signal := func(s syscall.Signal, state byte) {
		t.Helper()
		if err := process.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		await.Until(t, "the state "+string(state), func() bool {
			p, err := proc.Read(l.pid)
			return err == nil && p.State == state
		})
	}
	tasks := make(chan *wire.Task)
	l.run = func(ctx context.Context, c *wire.Conn) {
		defer context.AfterFunc(ctx, c.Close)()
		for m, err := c.Receive(); err == nil; m, err = c.Receive() {
			if task, ok := m.(*wire.Task); ok {
				tasks <- task
			}
		}
	}
	c := l.scheduler("one")
	say(t, c, of(1, 1, 1))
	signal(syscall.SIGSTOP, 'T')
	for range 2 * haltedLooks { // it has no task
		l.endStopped()
	}
	say(t, c, &wire.Task{ID: hear[*wire.Ask](t, c).ID})
	begun := <-tasks
	l.Node.mu.Lock()
	x := l.executors[l.started[0].ID.String()]
	l.Node.mu.Unlock()
	signal(syscall.SIGCONT, 'S')
	for range 2 * haltedLooks {
		l.endStopped()
	}
	l.Node.mu.Lock()
	if x.over || x.halted != 0 {
		t.Errorf("an executor that runs: over %t, stopped at %d looks", x.over, x.halted)
	}
	l.Node.mu.Unlock()
	signal(syscall.SIGSTOP, 'T')
	for range haltedLooks {
		l.endStopped()
	}
	if got := hear[*wire.Ended](t, c); got.ID != begun.ID || got.Why != wire.Gone || got.Fault != "executor "+x.name+" was stopped by a signal, and ended for it" {
		t.Errorf("%+v", got)
	}
	c.Close()
	l.empty()
}

// The process of an executor is that of this test, which runs: nothing is done about it, nor about one that hasn't said which one it is.
func TestExecutorsThatRunStay(t *testing.T) {
	for _, pid := range []int{0, os.Getpid(), 1 << 29} {
		l := newLab(t, 1)
		l.pid = pid
		c := l.scheduler("one")
		say(t, c, of(1, 1, 1))
		say(t, c, &wire.Task{ID: hear[*wire.Ask](t, c).ID})
		await.Until(t, "its executor", func() bool {
			l.Node.mu.Lock()
			defer l.Node.mu.Unlock()
			return len(l.executors) == 1 && len(l.schedulers) == 1
		})
		for range 2 * haltedLooks {
			l.endStopped()
		}
		l.Node.mu.Lock()
		for _, x := range l.executors {
			if x.over {
				t.Errorf("the executor with the process %d is over", pid)
			}
		}
		l.Node.mu.Unlock()
		c.Close()
		l.empty()
	}
}
