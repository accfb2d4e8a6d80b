package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"heddle/internal/await"
)

// Processes that were stopped before, hundreds of threads, and groups that processes made for themselves and froze stand still, go on as they were, and end.
func TestFreezeAndKillOfTheUnusual(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	onEach(t, func(t *testing.T, d Handler) {
		script := waitVariable + "=threads " + self + " & bash -c 'kill -STOP $$' & tail -f /dev/null & read -r"
		g, _ := run(t, d, "container_1_1_1_u", Limits{Pids: 2*threads + 100}, script)
		var many int
		await.Until(t, "all are there", func() bool {
			for _, pid := range processes(t, g) {
				tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
				if len(tasks) > threads {
					many = pid
				}
			}
			return many != 0 && inState(t, g, "bash", 'T') && inState(t, g, "tail", 'S')
		})
		inner := ""
		if k, ok := d.(*kernelHandler); ok {
			inner = own(t, k, g)
		}
		for range 2 {
			if err := g.Freeze(deadline(t)); err != nil {
				t.Fatal(err)
			}
			if frozen, err := g.Frozen(); err != nil || !frozen {
				t.Errorf("frozen %v, %v", frozen, err)
			}
			if err := g.Thaw(deadline(t)); err != nil {
				t.Fatal(err)
			}
			await.Until(t, "the threads go on", func() bool { return inState(t, g, filepath.Base(self), 'S') })
			if !inState(t, g, "bash", 'T') {
				t.Error("who was stopped before runs now")
			}
			if inner != "" && !isFrozen(t, inner) {
				t.Errorf("%s, which its process froze, isn't frozen now", inner)
			}
		}
		if err := g.Freeze(deadline(t)); err != nil {
			t.Fatal(err)
		}
		if err := g.Kill(deadline(t)); err != nil {
			t.Fatal(err)
		}
		if left := processes(t, g); len(left) > 0 {
			t.Errorf("processes %v are left", left)
		}
	})
}

// A program that was killed while it froze a group may have frozen it; the next one freezes it again, and it must thaw all the same.
func TestThawOfWhatAnEarlierLifeFroze(t *testing.T) {
	onEach(t, func(t *testing.T, d Handler) {
		g, _ := run(t, d, "container_1_1_1_e", Limits{}, "tail -f /dev/null & read -r")
		await.Until(t, "all are there", func() bool { return inState(t, g, "tail", 'S') })
		if err := g.Freeze(deadline(t)); err != nil {
			t.Fatal(err)
		}
		next, err := d.Open("container_1_1_1_e")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := next.Freeze(deadline(t)); err != nil {
				t.Fatal(err)
			}
			if err := next.Thaw(deadline(t)); err != nil {
				t.Fatal(err)
			}
			if frozen, err := next.Frozen(); err != nil || frozen {
				t.Errorf("frozen %v, %v", frozen, err)
			}
		}
		if err := next.Kill(deadline(t)); err != nil {
			t.Fatal(err)
		}
	})
}

// own makes a group below another one in all hierarchies, as a process in it might, moves one there and freezes it.
func own(t *testing.T, d *kernelHandler, g Group) (folder string) {
	t.Helper()
	tail := running(t, g, "tail")[0]
	for _, folder = range append(d.limiter.limited(g.Name()), d.holder.folders(g.Name())...) {
		folder = filepath.Join(folder, "own")
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "cgroup.procs"), []byte(strconv.Itoa(tail)), 0); err != nil {
			t.Fatal(err)
		}
	}
	for file, value := range map[string]string{"cgroup.freeze": "1", "freezer.state": "FROZEN"} {
		if err := os.WriteFile(filepath.Join(folder, file), []byte(value), 0); err != nil && !os.IsNotExist(err) && !os.IsPermission(err) {
			t.Fatal(err)
		}
	}
	await.Until(t, "it is frozen", func() bool { return isFrozen(t, folder) })
	return folder
}

func isFrozen(t *testing.T, folder string) bool {
	t.Helper()
	events, _ := os.ReadFile(filepath.Join(folder, "cgroup.events"))
	state, _ := os.ReadFile(filepath.Join(folder, "freezer.state"))
	return strings.Contains(string(events), "frozen 1") || strings.HasPrefix(string(state), "FROZEN")
}
