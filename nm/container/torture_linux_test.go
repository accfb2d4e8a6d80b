package container

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"heddle/internal/await"
	"heddle/internal/swapfile"
	"heddle/nm/cgroup"
	"heddle/nm/suspend"
)

// torture forks without pause, ignores signals, keeps a file and a socket open, and answers on the socket what it reads there.
const torture = `trap '' TERM HUP INT
exec 7>>kept
(while :; do (echo >> forks); done) &
exec 5<>/dev/tcp/127.0.0.1/%d
while read -r line <&5; do echo "$line" >&7; echo "$line" >&5; done`

// marked are the pids of processes that were started for a container, wherever they are.
func marked(id string) (pids []int) {
	mark := []byte("\x00" + cgroup.Marker + "=" + id + "\x00")
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is valid
	for _, dir := range dirs {
		env, err := os.ReadFile(dir + "/environ")
		if err == nil && bytes.Contains(append([]byte{0}, env...), mark) {
			pid, _ := strconv.Atoi(filepath.Base(dir)) // a number by the pattern
			pids = append(pids, pid)
		}
	}
	return pids
}

// A tree of processes that forks all the time and ignores signals is suspended and resumed 200 times, on whatever groups this machine has.
// None of its processes runs, or is missing, while it is suspended; its file and its socket go on where they were.
func TestCycledTreeLosesNothing(t *testing.T) {
	const cycles = 200
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	l := newLab(t)
	if !l.node.Groups.Capabilities().KillTree {
		return // its forks would escape: see nm/cgroup
	}
	script := filepath.Join(t.TempDir(), "torture")
	if err := os.WriteFile(script, fmt.Appendf(nil, torture, listener.Addr().(*net.TCPAddr).Port), 0o644); err != nil {
		t.Fatal(err)
	}
	c := l.run(job{id: containerID(1, 1), command: "exec bash " + script})
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	await.Until(t, "RUNNING", func() bool { return c.State() == Running })
	forks := c.Status().WorkDir + "/forks"
	await.Until(t, "forks", func() bool { return exists(forks) })
	for i := range cycles {
		if err := c.Suspend(t.Context()); err != nil {
			t.Fatalf("cycle %d: %v", i, err)
		}
		if _, err := fmt.Fprintln(conn, i); err != nil {
			t.Fatal(err)
		}
		if i%20 == 0 {
			before := size(t, forks)
			all := marked(c.ID().String())
			inGroup, err := c.Group().Processes()
			if err != nil {
				t.Fatal(err)
			}
			for _, pid := range all {
				if !slices.Contains(inGroup, pid) {
					t.Errorf("cycle %d: process %d isn't in the group %v", i, pid, inGroup)
				}
			}
			if frozen, err := c.Group().Frozen(); err != nil || !frozen || len(inGroup) < 2 || size(t, forks) != before {
				t.Errorf("cycle %d: frozen %v, %v, processes %v, %d and %d forks", i, frozen, err, inGroup, before, size(t, forks))
			}
		}
		if err := c.Resume(t.Context()); err != nil {
			t.Fatalf("cycle %d: %v", i, err)
		}
		if line, err := answers.ReadString('\n'); err != nil || line != fmt.Sprintln(i) {
			t.Fatalf("cycle %d: it answers %q, %v", i, line, err)
		}
	}
	last := size(t, forks)
	await.Until(t, "more forks", func() bool { return size(t, forks) > last })
	kept, err := os.ReadFile(c.Status().WorkDir + "/kept")
	if n := bytes.Count(kept, []byte("\n")); err != nil || n != cycles {
		t.Errorf("%d lines in its file, %v", n, err)
	}
	if err := c.Suspend(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Kill(137, "killed by the test")
	waitDone(t, c)
	if left := marked(c.ID().String()); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	if rest, err := io.ReadAll(answers); len(rest) > 0 {
		t.Errorf("%q, %v after it was killed", rest, err)
	}
}

// Many containers stand still at once, and go on standing still while their NodeManager restarts: 20 on whatever groups this machine has, 200
// in the virtual machine, which has cgroups v2. Each resumes by itself, and none of the others with it.
func TestManySuspended(t *testing.T) {
	many := 20
	if os.Getenv("HEDDLE_TEST_FULL") != "" {
		many = 200
	}
	l := newLab(t)
	for i := range many {
		c := l.run(job{id: containerID(1, int64(i+1)), memory: 32, command: "exec sleep 600"})
		await.Until(t, "RUNNING", func() bool { return c.State() == Running })
		order(t, c, level(suspend.Frozen, 32, 0, 1))
	}
	l.restart()
	// A restarted NodeManager says that a container runs until it has looked at its group.
	frozen := func() (n int, agreed bool) {
		agreed = true
		for i := range many {
			c := l.container(containerID(1, int64(i+1)))
			g := c.Group()
			if g == nil { // it hasn't been found again yet
				return n, false
			}
			still, err := g.Frozen()
			if err != nil {
				t.Fatalf("%v: %v", c.ID(), err)
			}
			agreed = agreed && still == (c.Status().Suspension.Have == suspend.Frozen)
			if still {
				n++
			}
		}
		return n, agreed
	}
	await.Until(t, "all stand still", func() bool {
		n, agreed := frozen()
		return n == many && agreed
	})
	for i := range 8 {
		order(t, l.container(containerID(1, int64(1+i*many/8))), level(suspend.Running, 32, 1, 2))
		if n, agreed := frozen(); n != many-1-i || !agreed {
			t.Errorf("%d stand still after %d have resumed, as their states say: %v", n, i+1, agreed)
		}
	}
	for i := range many {
		c := l.container(containerID(1, int64(i+1)))
		c.Kill(137, "killed by the test")
		waitDone(t, c)
	}
}

// A container that is to be paged out to swap that is smaller than its memory keeps what doesn't fit, says so, and loses nothing, on whatever
// groups this machine has. Where other tests give the machine more swap meanwhile, it all fits.
func TestSuspendedWhereSwapIsFull(t *testing.T) {
	swapfile.On(t, 48<<20)
	pagesOutInPart(t)
}

// The same where swap is large enough, and the disk below it is full: what the kernel can't write stays in memory.
func TestSuspendedWhereTheDiskOfSwapIsFull(t *testing.T) {
	if os.Getenv("HEDDLE_TEST_FULL") == "" {
		t.Skip("HEDDLE_TEST_FULL=1 runs it: the kernel writes a failure to its log for each page")
	}
	swapfile.Overcommitted(t, 512<<20, 64<<20)
	pagesOutInPart(t)
}

// pagesOutInPart suspends a container, of which swap takes a part, and has it go on.
func pagesOutInPart(t *testing.T) {
	t.Helper()
	l := newLab(t)
	if !l.node.Groups.Capabilities().Reclaim {
		return // it says so: see nm/cgroup
	}
	const remembered = 160 << 20
	c := l.rememberer(512, remembered)
	order(t, c, level(suspend.Reclaimed, 64, 0, 1))
	s := await.Value(t, "all is paged out, or why not is known", func() (suspend.State, bool) {
		s := c.Status().Suspension
		return s, !s.Lags() || s.Reason != ""
	})
	t.Logf("%d MB are held, %d MB are paged out: %s", s.Holds.MemoryMB(), s.Swapped>>20, s.Reason)
	if held := s.Holds.MemoryMB(); s.Lags() && (held <= 64 || held >= 512) || !s.Lags() && held != 64 {
		t.Errorf("it counts as holding %d MB: %+v", held, s)
	}
	if frozen, err := c.Group().Frozen(); err != nil || !frozen {
		t.Errorf("frozen %v, %v", frozen, err)
	}
	order(t, c, level(suspend.Running, 512, 1, 2))
	settled(t, c, suspend.Running)
	remembers(t, c, remembered)
}
