package container

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"heddle/internal/await"
	"heddle/internal/swapfile"
	"heddle/nm/suspend"
	"heddle/yarn/records"
)

// A container that stands still can't be held to less than it has in memory and on disk: it would be ended when it goes on. Other sizes it takes.
func TestResizedWhileItStandsStill(t *testing.T) {
	if os.Getenv("HEDDLE_TEST_FULL") == "" {
		t.Skip("HEDDLE_TEST_FULL=1 pages containers out and in, which takes a while")
	}
	const bytes = 48 << 20
	swapfile.On(t, 256<<20)
	for name, to := range map[string]suspend.Order{
		"reclaimed": level(suspend.Reclaimed, 64, 0, 1),
		"frozen":    level(suspend.Frozen, 256, 0, 1),
		"shrunk":    level(suspend.Shrunk, 64, 0, 1),
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			if !l.node.Groups.Capabilities().Reclaim {
				return // it says so: see nm/cgroup
			}
			c := l.rememberer(256, bytes)
			j := job{id: c.ID(), user: "ann", command: "exec " + os.Args[0]}
			order(t, c, to)
			settled(t, c, to.Level)
			if name == "reclaimed" {
				if err := c.Group().Reclaim(t.Context(), bytes*3/4); err != nil {
					t.Fatal(err)
				}
			}
			held := func() records.Resource { return c.Status().Suspension.Holds }
			version := int32(0)
			resize := func(memory int64) error {
				version++
				j.memory = memory
				return c.Update(t.Context(), j.grant(version), j.token(version))
			}
			before, limits := held(), c.box.Limits()
			if err := resize(40); !errors.Is(err, syscall.EBUSY) {
				t.Errorf("less than it uses: %v", err)
			}
			if held() != before || c.box.Limits() != limits || c.Grant().Resource.MemoryMB() != 256 {
				t.Errorf("it holds %v of %v, and is held to %+v", held(), c.Grant().Resource, c.box.Limits())
			}
			for _, memory := range []int64{512, 128} {
				if err := resize(memory); err != nil {
					t.Fatal(err)
				}
				want := min(to.Held.MemoryMB(), memory)
				if to.Held.MemoryMB() == 256 {
					want = memory
				}
				if held().MemoryMB() != want || l.node.room.Used().MemoryMB() != want || c.box.Limits().Memory != memory<<20 {
					t.Errorf("of %d MB it holds %v, %v are in use, it is held to %+v", memory, held(), l.node.room.Used(), c.box.Limits())
				}
			}
			order(t, c, level(suspend.Running, 128, 1, 2))
			await.Until(t, "it has all of its size", func() bool { return !c.Status().Suspension.Lags() })
			if l.node.room.Used().MemoryMB() != 128 || c.box.Limits().High != 0 || c.box.Limits().CPU != 0 {
				t.Errorf("%v are in use, it is held to %+v", l.node.room.Used(), c.box.Limits())
			}
			remembers(t, c, bytes)
		})
	}
}
