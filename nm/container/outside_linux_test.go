package container

import (
	"os"
	"path/filepath"
	"testing"

	"heddle/internal/await"
	"heddle/internal/swapfile"
	"heddle/nm/suspend"
	"heddle/yarn/records"
)

// An operator thaws the group of a suspended container, on whatever groups this machine has, past the NodeManager. It soon stands still again, and resumes as ever.
func TestThawedFromOutside(t *testing.T) {
	l := newLab(t)
	c, file := l.counter()
	order(t, c, level(suspend.Frozen, 256, 0, 1))
	before := size(t, file)
	if err := c.Group().Thaw(t.Context()); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "it runs", func() bool { return size(t, file) > before })
	await.Until(t, "it stands still again", func() bool { frozen, err := c.Group().Frozen(); return err == nil && frozen })
	if s := c.Status(); s.State != Paused || s.Suspension.Have != suspend.Frozen || s.Suspension.Lags() {
		t.Errorf("%s, %+v", s.State, s.Suspension)
	}
	before = size(t, file)
	order(t, c, level(suspend.Running, 256, 1, 2))
	await.Until(t, "progress", func() bool { return size(t, file) > before })
}

// removable turns swap on that a test may remove before it ends.
func removable(t *testing.T) (remove func() error) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may turn swap on")
	}
	off, err := swapfile.File(filepath.Join(t.TempDir(), "swap"), 256<<20)
	if err != nil {
		t.Skip(err)
	}
	removed := false
	t.Cleanup(func() {
		if removed {
			return
		}
		if err := off(); err != nil {
			t.Error(err)
		}
	})
	return func() error {
		err := off()
		removed = err == nil
		return err
	}
}

// Swap is removed while a container is paged out, on whatever groups this machine has: it holds what came back, or, where the kernel finds no room for that within the
// container's limit, swap stays. Either way it is alive, and nothing is lost.
func TestSwapIsRemovedWhileSuspended(t *testing.T) {
	const remembered = 96 << 20
	remove := removable(t)
	l := newLab(t)
	if !l.node.Groups.Capabilities().Reclaim {
		return // it says so: see nm/cgroup
	}
	c := l.rememberer(512, remembered)
	order(t, c, level(suspend.Reclaimed, 64, 0, 1))
	settled(t, c, suspend.Reclaimed)
	t.Logf("swap is removed: %v", remove())
	await.Until(t, "it is known what it holds", func() bool {
		m, err := c.Group().Memory()
		s := c.Status().Suspension
		return err == nil && m.Anon+m.File <= s.Holds.MemoryMB()<<20+4<<20 && l.node.room.Used().MemoryMB() == s.Holds.MemoryMB()
	})
	s := c.Status().Suspension
	t.Logf("it holds %d MB: %s", s.Holds.MemoryMB(), s.Reason)
	if frozen, err := c.Group().Frozen(); err != nil || !frozen {
		t.Errorf("frozen %v, %v", frozen, err)
	}
	order(t, c, level(suspend.Running, 512, 1, 2))
	settled(t, c, suspend.Running)
	remembers(t, c, remembered)
}

// Between two lives of the NodeManager swap is removed, where the kernel allows that, and the node gets less memory than a suspended container was granted. The container
// stands still as before, counts for what it holds, and goes on when it is told to.
func TestANodeThatBeginsWithLess(t *testing.T) {
	const remembered = 96 << 20
	remove := removable(t)
	memory := int64(8192)
	l := newLab(t, func(o *Options) { o.Config.Resource = records.NewResource(memory, 8) })
	if !l.node.Groups.Capabilities().Reclaim {
		return // it says so: see nm/cgroup
	}
	c := l.rememberer(512, remembered)
	order(t, c, level(suspend.Reclaimed, 64, 0, 1))
	settled(t, c, suspend.Reclaimed)
	l.node.close()
	t.Logf("swap is removed: %v", remove())
	memory = 256
	l.start()
	c = l.container(c.ID())
	await.Until(t, "it stands still, and it is known what it holds", func() bool {
		s := c.Status()
		if s.State != Paused || !s.Suspension.Have.Still() || s.Suspension.Lags() {
			return false
		}
		m, err := c.Group().Memory()
		return err == nil && m.Used() <= s.Suspension.Holds.MemoryMB()<<20+4<<20 && l.node.room.Used().MemoryMB() == s.Suspension.Holds.MemoryMB()
	})
	order(t, c, level(suspend.Running, 512, 1, 2))
	settled(t, c, suspend.Running)
	remembers(t, c, remembered)
}
