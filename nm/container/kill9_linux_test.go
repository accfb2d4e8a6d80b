package container

import (
	"errors"
	"syscall"
	"testing"

	"heddle/internal/await"
	"heddle/nm/proc"
)

// A NodeManager that was killed between the two processes of a change took the end of the first one for the container's.
func TestKilledBetweenTheProcessesOfAReinitialization(t *testing.T) {
	l := newDeadLab(t)
	l.tweak = quickly
	dir := t.TempDir()
	node := startChild(t, l.dir)
	node.do("hold %d %s", ReinitializingAwaitingKill, dir)
	node.kill()
	id := waysTo[ReinitializingAwaitingKill].job(ReinitializingAwaitingKill, dir).id
	await.Until(t, "the end of the first process", func() bool {
		left := processesOf(t, id)
		for _, p := range left {
			if err := proc.Signal(p, syscall.SIGKILL); err != nil && !errors.Is(err, proc.ErrGone) {
				t.Fatal(err)
			}
		}
		return len(left) == 0
	})
	l.start()
	c := l.container(id)
	await.Until(t, "the second process", func() bool {
		return c.State() == Running && exists(c.Status().WorkDir+"/second") && runs(dir) >= 2
	})
	if n := runs(dir); n != 2 {
		t.Errorf("processes were started %d times, not 2", n)
	}
}
