package cgroup

import (
	"errors"
	"fmt"
	"strconv"
	"syscall"
	"testing"

	"heddle/internal/await"
)

const mb = 1 << 20

// hoarding is a script that takes so many MB and keeps them.
func hoarding(megabytes int) string {
	return fmt.Sprintf("exec python3 -c 'import time; x = bytearray(%d); x[::4096] = b\"x\" * len(x[::4096]); time.sleep(600)'", megabytes<<20)
}

// Groups that each may use all of an amount may do so together only, while the amount changes as well.
func TestGroupsOfAParentAreBoundTogether(t *testing.T) {
	onEach(t, func(t *testing.T, d Handler) {
		p, err := d.Below("lent", Limits{Memory: 200 * mb, Shares: 1})
		if !d.Capabilities().MemoryLimit {
			if err == nil {
				err = p.Close()
			}
			if d.Kind() == None && !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("without cgroups: %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
		if names, err := d.Groups(); err != nil || len(names) != 0 {
			t.Errorf("the parent is among the groups %q, %v", names, err)
		}
		const each = 120
		first, _ := run(t, p, "container_1_1_1_1", Limits{Memory: 200 * mb}, hoarding(each))
		await.Until(t, "the first holds its memory", func() bool { return memoryOf(t, first) >= each*mb })
		all, err := p.Usage()
		if err != nil || all.Memory < each*mb || all.Processes != 1 {
			t.Errorf("all use %+v, %v", all, err)
		}
		if err := p.SetLimits(Limits{Memory: 60 * mb, Shares: 1}); !errors.Is(err, syscall.EBUSY) {
			t.Errorf("less than is in use: %v", err)
		}
		// The second has room in its own group, and not in what both may use.
		second, _ := run(t, p, "container_1_1_1_2", Limits{Memory: 200 * mb}, hoarding(each))
		await.Until(t, "one of them is ended", func() bool { return len(processes(t, first))+len(processes(t, second)) == 1 })
		if all, err := p.Usage(); err != nil || all.Memory > 200*mb {
			t.Errorf("all use %+v, %v", all, err)
		}
		if names, err := p.Groups(); err != nil || len(names) != 2 {
			t.Errorf("groups %q, %v", names, err)
		}
		// More is lent: both have room now.
		if err := p.SetLimits(Limits{Memory: 400 * mb, Shares: 1}); err != nil {
			t.Fatal(err)
		}
		third, _ := run(t, p, "container_1_1_1_3", Limits{Memory: 200 * mb}, hoarding(each))
		await.Until(t, "the third holds its memory", func() bool { return memoryOf(t, third) >= each*mb })
		if n := len(processes(t, first)) + len(processes(t, second)); n != 1 {
			t.Errorf("%d of the others run", n)
		}
	})
}

// A NodeManager that starts again finds the groups that an earlier life has left in the parent.
func TestAParentIsFoundAgain(t *testing.T) {
	onEach(t, func(t *testing.T, d Handler) {
		p, err := d.Below("lent", Limits{})
		if err != nil {
			return // see above
		}
		t.Cleanup(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
		g, cmd := run(t, p, "container_1_1_1_1", Limits{}, "sleep 600; :")
		again, err := d.Below("lent", Limits{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := again.Close(); err != nil {
				t.Error(err)
			}
		})
		found, err := again.Open(g.Name())
		if err != nil {
			t.Fatal(err)
		}
		if pids := processes(t, found); len(pids) == 0 {
			t.Errorf("process %d isn't found", cmd.Process.Pid)
		}
		if err := found.Kill(deadline(t)); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Open(strconv.Itoa(cmd.Process.Pid)); !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
	})
}

func memoryOf(t *testing.T, g Group) int64 {
	t.Helper()
	use, err := g.Usage()
	if err != nil {
		t.Fatal(err)
	}
	return use.Memory
}
