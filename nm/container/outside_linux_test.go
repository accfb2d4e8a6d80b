package container

import (
	"os"
	"path/filepath"
	"testing"

	"heddle/internal/await"
	"heddle/internal/swapfile"
	"heddle/nm/suspend"
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

// Swap is removed while a container is paged out, on whatever groups this machine has: it holds what came back, or, where the kernel finds no room for that within the
// container's limit, swap stays. Either way it is alive, and nothing is lost.
func TestSwapIsRemovedWhileSuspended(t *testing.T) {
	const remembered = 96 << 20
	if os.Geteuid() != 0 {
		t.Skip("only root may turn swap on")
	}
	off, err := swapfile.File(filepath.Join(t.TempDir(), "swap"), 256<<20)
	if err != nil {
		t.Skip(err)
	}
	removed := false
	t.Cleanup(func() {
		if !removed {
			if err := off(); err != nil {
				t.Error(err)
			}
		}
	})
	l := newLab(t)
	if !l.node.Groups.Capabilities().Reclaim {
		return // it says so: see nm/cgroup
	}
	c := l.rememberer(512, remembered)
	order(t, c, level(suspend.Reclaimed, 64, 0, 1))
	settled(t, c, suspend.Reclaimed)
	err = off()
	removed = err == nil
	t.Logf("swap is removed: %v", err)
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
