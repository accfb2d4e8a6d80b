package cgroup

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/internal/await"
)

// leave has each of a script's children go to another group before it does anything.
const leave = `while :; do (for to in %s; do echo $BASHPID >$to/cgroup.procs; done; echo >>%s; sleep 0.02); done`

// Processes of root that leave their container's group, for the top of the hierarchies or another container's group, stand still and end with their container. Those
// of the other go on.
func TestWhoLeavesStandsStillAndEndsWithItsContainer(t *testing.T) {
	onEach(t, func(t *testing.T, d Driver) {
		k, ok := d.(*kernelDriver)
		if !ok || os.Geteuid() != 0 {
			return // members are found anywhere, or can't leave
		}
		dir := t.TempDir()
		sibling, _ := run(t, d, "container_1_1_1_21", Limits{}, "while :; do echo >>"+dir+"/sibling; sleep 0.01; done")
		other := append(k.holder.folders(sibling.Name()), k.limiter.limited(sibling.Name())...)
		var top []string
		for _, folder := range other {
			top = append(top, folder+"/../../..") // of the hierarchy
		}
		for i, to := range [][]string{top, other} {
			name, file := fmt.Sprint("container_1_1_1_", 22+i), filepath.Join(dir, fmt.Sprint("left", i))
			g, _ := run(t, d, name, Limits{}, "sleep 600 & "+fmt.Sprintf(leave, strings.Join(to, " "), file))
			await.Until(t, "some have left", func() bool { return size(t, file) > 3 })
			if err := g.Freeze(deadline(t)); err != nil {
				t.Fatal(err)
			}
			marked, _, err := new(origins).started(name)
			if inside := processes(t, g); err != nil || len(marked) < 2 || len(inside) != len(marked) {
				t.Errorf("%v, %v are to be in the group, and %v are", err, marked, inside)
			}
			before, others := size(t, file), size(t, dir+"/sibling")
			await.Until(t, "the other container goes on", func() bool { return size(t, dir+"/sibling") > others+3 })
			if now := size(t, file); now != before {
				t.Errorf("%d bytes were written while it stood still", now-before)
			}
			if err := g.Thaw(deadline(t)); err != nil {
				t.Fatal(err)
			}
			await.Until(t, "some more have left", func() bool { return size(t, file) > before+3 })
			if err := g.Kill(deadline(t)); err != nil {
				t.Fatal(err)
			}
			if left, _, err := new(origins).started(name); err != nil || len(left) > 0 {
				t.Errorf("%v, processes %v are left", err, left)
			}
			if len(processes(t, sibling)) == 0 {
				t.Error("the other container has ended")
			}
		}
	})
}

// A process that is about to begin a container's program still has the environment of who forked it, and has none for a moment.
func TestOriginsSeeWhoBeginsAProgram(t *testing.T) {
	const name = "container_1_1_1_25"
	cmd := exec.Command("sh", "-c", "read line; exec env "+Marker+"="+name+" sleep 600")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	o := origins{newFor: time.Hour}
	if found, _, err := o.started(name); err != nil || len(found) > 0 {
		t.Fatalf("%v, %v before it begins", found, err)
	}
	if _, err := io.WriteString(in, "go\n"); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "it is found", func() bool {
		found, _, err := o.started(name)
		return err == nil && len(found) == 1 && found[0].PID == cmd.Process.Pid
	})
}

// Two NodeManagers of a machine may have containers of the same id, in different clusters. What one does to its own leaves the other's alone.
func TestNamesakesAreLeftAlone(t *testing.T) {
	onEach(t, func(t *testing.T, d Driver) {
		if d.Kind() == None {
			return // it can't tell them apart
		}
		const name = "container_1_1_1_24"
		other, err := Detect(Options{Kind: d.Kind(), ID: fmt.Sprintf("other:%d", os.Getpid()), Log: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { other.Close() })
		g, _ := run(t, d, name, Limits{}, "sleep 600; :")
		namesake, _ := run(t, other, name, Limits{}, "sleep 600; :")
		await.Until(t, "the processes", func() bool { return len(processes(t, g)) == 2 && len(processes(t, namesake)) == 2 })
		if err := g.Freeze(deadline(t)); err != nil {
			t.Fatal(err)
		}
		if err := g.Kill(deadline(t)); err != nil {
			t.Fatal(err)
		}
		if frozen, err := namesake.Frozen(); err != nil || frozen || len(processes(t, namesake)) != 2 {
			t.Errorf("the other one has %v, frozen %v, %v", processes(t, namesake), frozen, err)
		}
	})
}
