package cgroup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"heddle/internal/await"
	"heddle/internal/claims"
	"heddle/nm/cgroup/origins"
	"heddle/nm/proc"
)

// leave has each of a script's children go to another group before it does anything.
const leave = `while :; do (for to in %s; do echo $BASHPID >$to/cgroup.procs; done; echo >>%s; sleep 0.02); done`

// Processes of root that leave their container's group, for the top of the hierarchies or another container's group, stand still and end with their container. Those
// of the other go on.
func TestWhoLeavesStandsStillAndEndsWithItsContainer(t *testing.T) {
	onEach(t, func(t *testing.T, d Handler) {
		k, ok := d.(*kernelHandler)
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
			marked, _, err := origins.New(Marker).Started(name)
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
			if left, _, err := origins.New(Marker).Started(name); err != nil || len(left) > 0 {
				t.Errorf("%v, processes %v are left", err, left)
			}
			if len(processes(t, sibling)) == 0 {
				t.Error("the other container has ended")
			}
		}
	})
}

// Two NodeManagers of a machine may have containers of the same id, in different clusters. What one does to its own leaves the other's alone.
func TestNamesakesAreLeftAlone(t *testing.T) {
	onEach(t, func(t *testing.T, d Handler) {
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

// claim starts a process of another user that says it belongs to a group.
func claim(t *testing.T, group string) proc.ID {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	cmd.Env = []string{Marker + "=" + group}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	await.Until(t, "its environment", func() bool {
		v, err := claims.Environ(cmd.Process.Pid, Marker)
		return err == nil && v.Found
	})
	p, err := proc.Read(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return p.ID
}

// Without cgroups, a process of any user that had a container's name in its environment counted as the container's: the container couldn't start.
func TestAClaimOfAnotherUserMakesNoMember(t *testing.T) {
	if os.Geteuid() != 0 {
		return // nobody can claim anything in another user's name
	}
	onEach(t, func(t *testing.T, d Handler) {
		const name = "container_1_1_1_26"
		other := claim(t, name)
		g, cmd := run(t, d, name, Limits{}, "sleep 600; :")
		await.Until(t, "both processes", func() bool { return len(processes(t, g)) == 2 })
		if err := g.Kill(deadline(t)); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if p, err := proc.Read(other.PID); d.Kind() == None && (err != nil || p.Dead()) {
			t.Errorf("another user's process was killed with the container: %+v, %v", p, err)
		}
	})
}
