package container

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"heddle/internal/await"
	"heddle/nm/enclosure"
	"heddle/nm/makeway"
	"heddle/nm/suspend"
	"heddle/yarn/records"
)

// opportunism is a node of 1,000 MB with a queue of two.
func opportunism(pause bool) func(*Options) {
	return func(o *Options) {
		o.Config.OpportunisticQueue, o.Config.PauseOpportunistic = 2, pause
		o.Config.Rules = enclosure.Rules{Resource: records.NewResource(1000, 8), Cores: 2, LimitMemory: true}
	}
}

func opportunistic(n int64, mb int64) job {
	return job{id: containerID(1, n), user: "ann", memory: mb, command: "sleep 600; :", opportunistic: true}
}

func guaranteed(n int64, mb int64) job {
	j := opportunistic(n, mb)
	j.opportunistic = false
	return j
}

func becomes(t *testing.T, c *Container, s State) {
	t.Helper()
	await.Until(t, s.String(), func() bool { return c.State() == s })
}

// Opportunistic containers wait for room, no more than the queue takes, and are killed for guaranteed ones: those first that came last.
func TestOpportunisticContainersMakeWay(t *testing.T) {
	l := newLab(t, opportunism(false))
	first, second := l.run(opportunistic(1, 400)), (*Container)(nil)
	becomes(t, first, Running)
	second = l.run(opportunistic(2, 400))
	becomes(t, second, Running)
	third := l.run(opportunistic(3, 400))
	await.Until(t, "one that waits", func() bool { return l.node.Room().Opportunities().Queued == 1 })
	fourth := l.run(opportunistic(4, 100)) // it would fit, but comes after one that waits
	await.Until(t, "two that wait", func() bool { return l.node.Room().Opportunities().Queued == 2 })
	becomes(t, third, Scheduled)
	becomes(t, fourth, Scheduled)
	fifth := l.run(opportunistic(5, 100))
	waitDone(t, fifth)
	if s := fifth.Status(); s.ExitCode != records.ExitKilledByScheduler || !strings.Contains(s.Diagnostics, "Opportunistic container queue is full.") {
		t.Errorf("more than the queue takes: %d, %s", s.ExitCode, s.Diagnostics)
	}

	master := l.run(guaranteed(6, 500))
	becomes(t, master, Running)
	waitDone(t, second)
	if s := second.Status(); s.ExitCode != records.ExitKilledByScheduler || !strings.Contains(s.Diagnostics, "Container Killed to make room for Guaranteed Container.") {
		t.Errorf("the one that came last: %d, %s", s.ExitCode, s.Diagnostics)
	}
	if first.State() != Running {
		t.Errorf("the one that came first is %v", first.State())
	}

	l.node.Room().Shed(1)
	waitDone(t, fourth)
	if s := fourth.Status(); !strings.Contains(s.Diagnostics, "Container De-queued to meet NM queuing limits.") {
		t.Errorf("shed: %s", s.Diagnostics)
	}
	master.Kill(records.ExitKilledByAppMaster, "")
	becomes(t, third, Running)
	if o := l.node.Room().Opportunities(); o.Running != 2 || o.Queued != 0 || o.Used.MemoryMB() != 800 || o.Capacity != 2 {
		t.Errorf("%+v", o)
	}
}

// counts returns a container that counts in a file, and what it has counted.
func counts(l *lab, n, mb int64) (*Container, func() string) {
	file := fmt.Sprintf("%s/count%d", l.dir, n)
	j := opportunistic(n, mb)
	j.command = "n=0; while sleep 0.02; do n=$((n+1)); echo $n > " + file + "; done"
	c := l.run(j)
	return c, func() string {
		b, _ := os.ReadFile(file)
		return string(b)
	}
}

// Paused ones stand still, over a restart of the NodeManager too, and continue where they were when there is room.
func TestOpportunisticContainersArePaused(t *testing.T) {
	l := newLab(t, opportunism(true))
	c, count := counts(l, 1, 700)
	await.Until(t, "a count", func() bool { return count() != "" })
	master := l.run(guaranteed(2, 500))
	becomes(t, master, Running)
	becomes(t, c, Paused)
	next := l.run(opportunistic(3, 600)) // it doesn't overtake the one that is paused
	becomes(t, next, Scheduled)

	l.restart()
	c, master, next = l.container(c.ID()), l.container(master.ID()), l.container(next.ID())
	becomes(t, c, Paused)
	becomes(t, master, Running)
	await.Until(t, "both in the queue", func() bool { return l.node.Room().Opportunities().Queued == 2 })
	stands := count()
	master.Kill(records.ExitKilledByAppMaster, "")
	becomes(t, c, Running)
	await.Until(t, "another count", func() bool { return count() != stands })
	if next.State() == Running {
		t.Error("another one has overtaken it")
	}
	await.Until(t, "the record of its return", func() bool { return !(suspension{c}).Yielded() })
	c.Kill(records.ExitKilledByAppMaster, "")
	becomes(t, next, Running)
	waitDone(t, c)
	if used := l.node.room.Used().MemoryMB(); used != 600 {
		t.Errorf("%d MB are counted", used)
	}
}

// One that is promoted while it is paused returns at once, and others make way for it; one that is demoted makes way.
func TestPromotionAndDemotion(t *testing.T) {
	l := newLab(t, opportunism(true))
	j := opportunistic(1, 600)
	c := l.run(j)
	becomes(t, c, Running)
	big := guaranteed(2, 800)
	master := l.run(big)
	becomes(t, c, Paused)
	becomes(t, master, Running)
	demoted := big
	demoted.opportunistic = true
	if err := master.Update(t.Context(), demoted.grant(1), demoted.token(1)); err != nil {
		t.Fatal(err)
	}
	promoted := j
	promoted.opportunistic = false
	if err := c.Update(t.Context(), promoted.grant(1), promoted.token(1)); err != nil {
		t.Fatal(err)
	}
	becomes(t, c, Running)
	becomes(t, master, Paused)
	c.Kill(records.ExitKilledByAppMaster, "")
	becomes(t, master, Running)
}

// A container whose NodeManager was killed when it was on disk that it makes way, and not done yet, makes way in the next life, and returns.
func TestAKillBeforeAContainerHasMadeWay(t *testing.T) {
	l := newLab(t, opportunism(true))
	c := l.run(opportunistic(1, 700))
	becomes(t, c, Running)
	setYielded(c, true)
	x := command{Container: c}
	if err := <-x.wanted(x.ask(&suspend.Order{Level: suspend.Frozen, Held: c.box.Size()})); err != nil {
		t.Fatal(err)
	}
	l.restart()
	c = l.container(c.ID())
	becomes(t, c, Running)
	l.run(guaranteed(2, 500))
	becomes(t, c, Paused)
}

var _ makeway.Container = suspension{}
