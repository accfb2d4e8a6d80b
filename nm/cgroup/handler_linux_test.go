package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/nm/cgroup/mounts"

	"github.com/sirupsen/logrus"

	"heddle/internal/await"
	"heddle/internal/hungdisk"
	"heddle/nm/proc"
)

func TestMain(m *testing.M) {
	if size := os.Getenv(holdVariable); size != "" {
		hold(size)
		return
	}
	if how := os.Getenv(waitVariable); how != "" {
		wait(how)
		return
	}
	os.Exit(await.NoGoroutines(m.Run()))
}

func quiet() *logrus.Entry {
	l := logrus.New()
	l.Out = io.Discard
	return logrus.NewEntry(l)
}

// realKinds are the handlers that this machine can run; CI machines are hybrid or v2.
func realKinds(t *testing.T) []Kind {
	t.Helper()
	kinds := []Kind{None}
	for _, k := range []Kind{V1, Hybrid, V2} {
		d, err := Detect(Options{Kind: k, ID: "find-out", Log: quiet()})
		if err != nil {
			continue
		}
		d.Close()
		kinds = append(kinds, k)
	}
	return kinds
}

// onEach runs a test with every handler of this machine, and checks that it left nothing behind.
func onEach(t *testing.T, f func(t *testing.T, d Handler)) {
	for _, k := range realKinds(t) {
		t.Run(string(k), func(t *testing.T) {
			id := fmt.Sprintf("test:%d", os.Getpid())
			d, err := Detect(Options{Kind: k, ID: id, Log: quiet()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				left, err := d.Groups()
				if err != nil || len(left) > 0 {
					t.Errorf("groups left: %q, %v", left, err)
				}
				if err := d.Close(); err != nil {
					t.Error(err)
				}
				found, err := filepath.Glob("/sys/fs/cgroup/*/heddle/" + filepath.Base(folder("", id)))
				if err != nil || len(found) > 0 {
					t.Errorf("folders left: %q, %v", found, err)
				}
			})
			f(t, d)
		})
	}
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// run starts a script in a new group, as the NodeManager does: the shell waits until it has been put there.
func run(t *testing.T, d Handler, name string, l Limits, script string) (Group, *exec.Cmd) {
	t.Helper()
	g, err := d.Create(name, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := g.Kill(ctx); err != nil {
			t.Error(err)
		}
		if err := g.Destroy(ctx); err != nil {
			t.Error(err)
		}
	})
	cmd := exec.Command("/bin/bash", "-c", "read -r; "+script)
	cmd.Env = []string{Marker + "=" + name}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	gate, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		g.Kill(context.Background())
		cmd.Wait()
	})
	if err := g.Add(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if _, err := gate.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	return g, cmd
}

func processes(t *testing.T, g Group) []int {
	t.Helper()
	pids, err := g.Processes()
	if err != nil {
		t.Fatal(err)
	}
	return pids
}

// daemon leaves its session and its parent; its pid is written to file.
const daemon = `setsid --fork bash -c 'echo $$ > %[1]s.new; mv %[1]s.new %[1]s; exec sleep 600' <&- >&- 2>&-; `

func TestKillReachesDaemons(t *testing.T) {
	onEach(t, func(t *testing.T, d Handler) {
		file := filepath.Join(t.TempDir(), "pid")
		g, cmd := run(t, d, "container_1_1_1_1", Limits{}, fmt.Sprintf(daemon, file)+"sleep 600 & sleep 600")
		await.Until(t, "the daemon", func() bool { _, err := os.Stat(file); return err == nil })
		await.Until(t, "four processes", func() bool { return len(processes(t, g)) == 4 })
		var pid int
		text, _ := os.ReadFile(file)
		fmt.Sscan(string(text), &pid)
		p, err := proc.Read(pid)
		if err != nil || p.Session == cmd.Process.Pid || p.Parent == cmd.Process.Pid {
			t.Fatalf("the daemon is none: %+v, %v", p, err)
		}
		if err := g.Kill(deadline(t)); err != nil {
			t.Fatal(err)
		}
		if pids := processes(t, g); len(pids) != 0 {
			t.Errorf("left: %v", pids)
		}
		if p, err := proc.Read(pid); err == nil && !p.Dead() {
			t.Errorf("the daemon lives: %+v", p)
		}
		cmd.Wait()
		// Without groups one is killed after the other: the shell may see its child end.
		if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signal() != syscall.SIGKILL && d.Kind() != None {
			t.Errorf("the shell ended with %v", cmd.ProcessState)
		}
	})
}

func TestKillEndsAForkingTree(t *testing.T) {
	onEach(t, func(t *testing.T, d Handler) {
		g, _ := run(t, d, "container_1_1_1_2", Limits{Pids: 200}, "while :; do (sleep 0.01 & sleep 0.1 &) ; done 2>/dev/null")
		await.Until(t, "some processes", func() bool { return len(processes(t, g)) > 3 })
		if err := g.Kill(deadline(t)); err != nil {
			t.Fatal(err)
		}
		if pids := processes(t, g); len(pids) != 0 {
			t.Errorf("left: %v", pids)
		}
	})
}

// What has to end is not held to a bound of CPU: at the least one the end of many threads takes minutes.
func TestKillLiftsTheBoundOfCPU(t *testing.T) {
	f := newFakeV2(sys, "cpu", "memory", "pids")
	fake, err := v2Site(f, "/", "/heddle").handler(V2)
	if err != nil {
		t.Fatal(err)
	}
	const name = "container_1_1_1_8"
	if err := errors.Join(fake.holder.create(name), fake.limiter.set(name, Limits{CPU: 0.01})); err != nil {
		t.Fatal(err)
	}
	f.writes = nil
	if err := (&kernelGroup{d: fake, name: name}).Kill(deadline(t)); err != nil {
		t.Fatal(err)
	}
	if want := fake.holder.(*unified).path(name, "cpu.max=max 100000"); len(f.writes) == 0 || f.writes[0] != want {
		t.Errorf("%q were written, and first is to be %s", f.writes, want)
	}

	onEach(t, func(t *testing.T, d Handler) {
		g, _ := run(t, d, name, Limits{CPU: 0.01}, "sleep 600")
		if err := g.Kill(deadline(t)); err != nil {
			t.Fatal(err)
		}
		k, ok := d.(*kernelHandler)
		if !ok || !d.Capabilities().CPULimit {
			return // nothing bounds it
		}
		if l, ok := k.limiter.(*legacy); ok {
			if left, err := number(l.tree, l.path("cpu", name, "cpu.cfs_quota_us")); err != nil || left != -1 {
				t.Errorf("quota %d, %v", left, err)
			}
		}
	})
}

func TestAFrozenGroupMakesNoProgress(t *testing.T) {
	spares := maySpare(t)
	onEach(t, func(t *testing.T, d Handler) {
		file := filepath.Join(t.TempDir(), "count")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		g, _ := run(t, d, "container_1_1_1_3", Limits{}, "while :; do echo; done > "+file)
		await.Until(t, "progress", func() bool { return size(t, file) > 0 })
		if frozen, err := g.Frozen(); err != nil || frozen {
			t.Fatalf("before: frozen %v, %v", frozen, err)
		}
		for range 3 {
			if err := g.Freeze(deadline(t)); err != nil {
				t.Fatal(err)
			}
			if frozen, err := g.Frozen(); err != nil || !frozen {
				t.Fatalf("frozen %v, %v", frozen, err)
			}
			if _, kernel := d.(*kernelHandler); kernel && spares && scoreOf(t, g) != "-999" {
				t.Errorf("when memory runs out it isn't spared: its score is %s", scoreOf(t, g))
			}
			before := size(t, file)
			busy(50 * time.Millisecond)
			if after := size(t, file); after != before {
				t.Fatalf("wrote %d bytes while frozen", after-before)
			}
			if err := g.Thaw(deadline(t)); err != nil {
				t.Fatal(err)
			}
			if score := scoreOf(t, g); score != "0" {
				t.Errorf("it runs with a score of %s", score)
			}
			await.Until(t, "progress after the thaw", func() bool { return size(t, file) > before })
		}
		if err := g.Freeze(deadline(t)); err != nil {
			t.Fatal(err)
		}
		if err := g.Kill(deadline(t)); err != nil {
			t.Fatalf("kill frozen: %v", err)
		}
	})
}

// maySpare reports whether this process may lower the scores of others, which takes the capability CAP_SYS_RESOURCE.
func maySpare(t *testing.T) bool {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	return os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", cmd.Process.Pid), []byte("-1"), 0) == nil
}

// scoreOf is how readily the kernel ends a group's first process when memory runs out.
func scoreOf(t *testing.T, g Group) string {
	t.Helper()
	pids, err := g.Processes()
	if err != nil || len(pids) == 0 {
		t.Fatalf("%v, %v", pids, err)
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", pids[0]))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// size is that of a file, which may not be there yet.
func size(t *testing.T, file string) int64 {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err != nil {
		return 0
	}
	return info.Size()
}

// busy keeps a core busy for a while: whatever could run, would.
func busy(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}

func TestSignalReachesAllButTheExcepted(t *testing.T) {
	onEach(t, func(t *testing.T, d Handler) {
		dir := t.TempDir()
		script := "trap 'echo got > " + dir + "/shell; exit 3' TERM; (trap 'echo got > " + dir +
			"/child; exit' TERM; touch " + dir + "/ready; while :; do sleep 0.01; done) & while :; do sleep 0.01; done"
		g, cmd := run(t, d, "container_1_1_1_4", Limits{}, script)
		await.Until(t, "the child", func() bool { _, err := os.Stat(dir + "/ready"); return err == nil })
		if err := g.Signal(syscall.SIGTERM, cmd.Process.Pid); err != nil {
			t.Fatal(err)
		}
		await.Until(t, "the child's trap", func() bool { _, err := os.Stat(dir + "/child"); return err == nil })
		if _, err := os.Stat(dir + "/shell"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the shell got the signal as well: %v", err)
		}
		if err := g.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 3 {
			t.Errorf("the shell ended with %v", cmd.ProcessState)
		}
	})
}

func TestReopen(t *testing.T) {
	onEach(t, func(t *testing.T, d Handler) {
		run(t, d, "container_1_1_1_5", Limits{}, "sleep 600; :")
		if _, err := d.Create("container_1_1_1_5", Limits{}); err == nil {
			t.Error("a group with processes was created again")
		}
		again, err := Detect(Options{Kind: d.Kind(), ID: fmt.Sprintf("test:%d", os.Getpid()), Log: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		if d.Kind() != None {
			if names, err := again.Groups(); err != nil || !slices.Equal(names, []string{"container_1_1_1_5"}) {
				t.Errorf("groups %q, %v", names, err)
			}
			if _, err := again.Open("container_1_1_1_6"); !errors.Is(err, ErrNotFound) {
				t.Errorf("opened what is not there: %v", err)
			}
		}
		g, err := again.Open("container_1_1_1_5")
		if err != nil {
			t.Fatal(err)
		}
		// the shell has the marker in its environment, and its child too
		await.Until(t, "the processes", func() bool { return len(processes(t, g)) == 2 })
		if err := g.Kill(deadline(t)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestUsageGrows(t *testing.T) {
	onEach(t, func(t *testing.T, d Handler) {
		g, _ := run(t, d, "container_1_1_1_7", Limits{}, "x=$(head -c 20000000 /dev/zero | tr '\\0' x); while :; do :; done")
		await.Until(t, "CPU time and memory", func() bool {
			use, err := g.Usage()
			if err != nil {
				t.Fatal(err)
			}
			return use.CPU > 50*time.Millisecond && use.Processes == 1 &&
				(use.Memory > 20_000_000 || use.Memory == -1 && !d.Capabilities().MemoryLimit)
		})
	})
}

func limitedKinds(t *testing.T, has func(Capabilities) bool, f func(t *testing.T, d Handler)) {
	onEach(t, func(t *testing.T, d Handler) {
		if !has(d.Capabilities()) {
			if len(d.Capabilities().Missing) == 0 {
				t.Error("a guarantee is missing and not reported")
			}
			return
		}
		f(t, d)
	})
}

func TestOutOfMemory(t *testing.T) {
	limitedKinds(t, func(c Capabilities) bool { return c.MemoryLimit && c.OOMEvents }, func(t *testing.T, d Handler) {
		g, cmd := run(t, d, "container_1_1_1_8", Limits{Memory: 32 << 20}, "head -c 1000000000 /dev/zero | tail; sleep 600; :")
		select {
		case <-g.OOM():
		case <-time.After(time.Minute):
			t.Fatal("no event")
		}
		use, err := g.Usage()
		if err != nil || use.OOMKills < 1 || use.Peak < 30<<20 || use.Peak > 32<<20 {
			t.Errorf("usage %+v, %v", use, err)
		}
		if pids := processes(t, g); !slices.Contains(pids, cmd.Process.Pid) {
			t.Errorf("the shell is not among %v", pids)
		}
	})
}

func TestCPULimit(t *testing.T) {
	limitedKinds(t, func(c Capabilities) bool { return c.CPULimit }, func(t *testing.T, d Handler) {
		g, _ := run(t, d, "container_1_1_1_9", Limits{CPU: 0.1, Shares: 1}, "while :; do :; done")
		cpu := func() time.Duration {
			use, err := g.Usage()
			if err != nil {
				t.Fatal(err)
			}
			return use.CPU
		}
		await.Until(t, "the loop", func() bool { return cpu() > 10*time.Millisecond })
		begin := time.Now() // the clock is read before and after, so that no pause between two looks counts as use
		from := cpu()
		await.Until(t, "a second", func() bool { return time.Since(begin) > time.Second })
		used, passed := cpu()-from, time.Since(begin)
		// Quotas of periods that are cut fall in, and a tick may be late on a machine that has no processor itself for a while: so it may use twice
		// its limit, where a loop without one uses ten times.
		if used > passed/5 {
			t.Errorf("used %v in %v, want at most a fifth", used, passed)
		}
		if err := g.SetLimits(Limits{}); err != nil {
			t.Fatal(err)
		}
		from = cpu()
		await.Until(t, "200 ms without a limit", func() bool { return cpu()-from > 200*time.Millisecond })
	})
}

func TestPidsLimit(t *testing.T) {
	limitedKinds(t, func(c Capabilities) bool { return c.PidsLimit }, func(t *testing.T, d Handler) {
		g, _ := run(t, d, "container_1_1_1_a", Limits{Pids: 5}, "for i in 1 2 3 4 5 6 7 8; do sleep 600 & done 2>/dev/null; sleep 600")
		await.Until(t, "five processes", func() bool { return len(processes(t, g)) == 5 })
		busy(20 * time.Millisecond)
		if n := len(processes(t, g)); n > 5 {
			t.Errorf("%d processes", n)
		}
	})
}

func TestGroupsBelowAGroup(t *testing.T) {
	onEach(t, func(t *testing.T, d Handler) {
		k, ok := d.(*kernelHandler)
		if !ok {
			return // none has no folders
		}
		file := filepath.Join(t.TempDir(), "progress")
		g, cmd := run(t, d, "container_1_1_1_b", Limits{}, "while :; do echo; done > "+file)
		inner := filepath.Join(k.holder.folders(g.Name())[0], "inner")
		if err := os.Mkdir(inner, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := addPid(kernelTree{}, inner, cmd.Process.Pid); err != nil {
			t.Fatal(err)
		}
		if pids := processes(t, g); !slices.Contains(pids, cmd.Process.Pid) {
			t.Errorf("the moved process is not among %v", pids)
		}
		await.Until(t, "progress", func() bool { return size(t, file) > 0 })
		if err := g.Freeze(deadline(t)); err != nil {
			t.Fatal(err)
		}
		before := size(t, file)
		busy(50 * time.Millisecond)
		if after := size(t, file); after != before {
			t.Errorf("wrote %d bytes while frozen", after-before)
		}
		if err := g.Kill(deadline(t)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestFreezeOfWhatCannotBeFrozenIsUndone(t *testing.T) {
	onEach(t, func(t *testing.T, d Handler) {
		g, _ := run(t, d, "container_1_1_1_c", Limits{}, "sleep 600; :")
		await.Until(t, "two processes", func() bool { return len(processes(t, g)) == 2 })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := g.Freeze(ctx); err != nil {
			await.Until(t, "the thaw", func() bool { frozen, err := g.Frozen(); return err == nil && !frozen })
		} else if err := g.Thaw(deadline(t)); err != nil {
			t.Fatal(err)
		}
	})
}

// A group whose process is in a call that doesn't end is frozen nevertheless: the others stand still at once, and that one when the call ends. All go on
// when they are thawed, also beside one that has stopped itself.
func TestFreezeWhileACallDoesNotEnd(t *testing.T) {
	onEach(t, func(t *testing.T, d Handler) {
		dir := t.TempDir()
		hung, file, back := filepath.Join(dir, "hung"), filepath.Join(dir, "count"), filepath.Join(dir, "back")
		release := hungdisk.Mount(t, hung)
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		g, _ := run(t, d, "container_1_1_1_d", Limits{}, "(cat "+hung+"/file; echo > "+back+") 2>/dev/null & sh -c 'kill -STOP $$' & while :; do echo; done > "+file)
		await.Until(t, "progress, one that stops itself, and one in the call", func() bool {
			return size(t, file) > 0 && inState(t, g, "sh", 'T') && inState(t, g, "cat", 'D')
		})
		for _, ends := range []bool{false, true} {
			if err := g.Freeze(deadline(t)); err != nil {
				t.Fatal(err)
			}
			if frozen, err := g.Frozen(); err != nil || !frozen {
				t.Fatalf("frozen %v, %v", frozen, err)
			}
			before := size(t, file)
			if ends {
				release()
			}
			busy(50 * time.Millisecond)
			if after := size(t, file); after != before {
				t.Fatalf("wrote %d bytes while frozen", after-before)
			}
			if _, err := os.Stat(back); err == nil {
				t.Fatalf("it went on from its call while frozen (its end: %v)", ends)
			}
			if err := g.Thaw(deadline(t)); err != nil {
				t.Fatal(err)
			}
			await.Until(t, "progress", func() bool { return size(t, file) > before })
		}
		await.Until(t, "the call's end", func() bool { _, err := os.Stat(back); return err == nil })
	})
}

// inState reports whether a process of a group that runs a program is in a state.
func inState(t *testing.T, g Group, program string, state byte) bool {
	return slices.ContainsFunc(running(t, g, program), func(pid int) bool {
		p, err := proc.Read(pid)
		return err == nil && p.State == state
	})
}

// running lists the processes of a group that run a program.
func running(t *testing.T, g Group, program string) []int {
	return slices.DeleteFunc(processes(t, g), func(pid int) bool {
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		return strings.TrimSpace(string(name)) != program
	})
}

func TestNamesThatAreNoFolders(t *testing.T) {
	onEach(t, func(t *testing.T, d Handler) {
		for _, name := range []string{"", ".", "..", "a/b", "cgroup.procs", "a\nb", "a\x00"} {
			if g, err := d.Create(name, Limits{}); err == nil {
				t.Errorf("%q was created as %v", name, g)
			}
			if g, err := d.Open(name); err == nil {
				t.Errorf("%q was opened as %v", name, g)
			}
		}
	})
}

func TestTwoNodesOfAMachine(t *testing.T) {
	onEach(t, func(t *testing.T, d Handler) {
		other, err := Detect(Options{Kind: d.Kind(), ID: fmt.Sprintf("other:%d", os.Getpid()), Log: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		run(t, d, "container_1_1_1_d", Limits{}, "sleep 600; :")
		if names, err := other.Groups(); err != nil || len(names) > 0 {
			t.Errorf("the other sees %q, %v", names, err)
		}
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		if d.Kind() != None {
			if _, err := d.Open("container_1_1_1_d"); err != nil {
				t.Errorf("after the other has closed: %v", err)
			}
		}
	})
}

// Containers of a node weigh as much as its processors, in every folder on the way to them.
func TestWeightOfAllGroups(t *testing.T) {
	root := fmt.Sprintf("/heddle-weight-%d", os.Getpid())
	for _, c := range []struct {
		total Limits
		value string // of cpu.shares
	}{{Limits{Shares: 3}, "3072"}, {Limits{Shares: 2, CPU: 1}, "3072"}} { // the latter finds the weight that the first has set
		d, err := Detect(Options{Root: root, ID: "weight", Total: c.total, Log: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		k, ok := d.(*kernelHandler)
		if !ok || !d.Capabilities().Shares {
			t.Skip("this machine's groups have no weight")
		}
		l, ok := k.limiter.(*legacy)
		if !ok {
			t.Skip("its groups are of v2, whose weights another test looks at")
		}
		b, err := os.ReadFile(filepath.Join(filepath.Dir(l.tops["cpu"]), "cpu.shares"))
		if got := strings.TrimSpace(string(b)); err != nil || got != c.value {
			t.Errorf("%+v: weight %s, %v, want %s", c.total, got, err, c.value)
		}
	}
}

func TestRelativeRootLiesInTheOwnGroup(t *testing.T) {
	found, own, err := mounts.Look()
	if err != nil {
		t.Fatal(err)
	}
	d, err := Detect(Options{Root: "heddle-below", ID: fmt.Sprintf("test:%d", os.Getpid()), Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	k, ok := d.(*kernelHandler)
	if !ok {
		if len(d.Capabilities().Missing) == 0 {
			t.Error("no cgroups, and nothing is reported missing")
		}
		return
	}
	for _, m := range found {
		c := ""
		if !m.V2 {
			c = m.Controllers[0]
		}
		base, ok := m.Own(own[c])
		for _, f := range k.made {
			if ok && strings.HasPrefix(f, m.Point+"/") && !strings.HasPrefix(f, strings.TrimSuffix(base, "/"+leaf)) {
				t.Errorf("%s is not below %s", f, base)
			}
		}
	}
}

func TestAKindThatMustBe(t *testing.T) {
	if d, err := Detect(Options{Kind: "v9", ID: "x", Log: quiet()}); err == nil {
		t.Errorf("got %s", d.Kind())
		d.Close()
	}
}

func BenchmarkFreezeThaw(b *testing.B) {
	for _, k := range []Kind{V1, Hybrid, V2, None} {
		d, err := Detect(Options{Kind: k, ID: "bench", Log: quiet()})
		if err != nil {
			continue
		}
		b.Run(string(k), func(b *testing.B) {
			g, err := d.Create("container_1_1_1_1", Limits{})
			if err != nil {
				b.Fatal(err)
			}
			cmd := exec.Command("sleep", "600")
			if err := cmd.Start(); err != nil {
				b.Fatal(err)
			}
			if err := g.Add(cmd.Process.Pid); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := g.Freeze(b.Context()); err != nil {
					b.Fatal(err)
				}
				if err := g.Thaw(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			g.Kill(context.Background())
			cmd.Wait()
			g.Destroy(context.Background())
		})
		d.Close()
	}
}

// This process gets the CPU first, on whatever groups this machine has, and is back where it was afterwards.
func TestFirst(t *testing.T) {
	before := ownGroups(t)
	for _, k := range realKinds(t)[1:] {
		t.Run(string(k)+" real", func(t *testing.T) {
			d, err := Detect(Options{Kind: k, ID: fmt.Sprintf("first:%d", os.Getpid()), First: true, Log: quiet()})
			if err != nil {
				t.Fatal(err)
			}
			sits := strings.Contains(ownGroups(t), "/heddle/"+seat+"\n")
			if can := d.Capabilities(); sits != can.Shares {
				t.Errorf("it sits: %v, groups have weights: %v: %s", sits, can.Shares, ownGroups(t))
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			if now := ownGroups(t); now != before {
				t.Errorf("afterwards it is in\n%s instead of\n%s", now, before)
			}
		})
	}
}

func ownGroups(t *testing.T) string {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A group has had no processor for about as long as its node's limit took one from it, and the group's own limit doesn't count.
func TestWhatTheNodeTakesIsTold(t *testing.T) {
	onEach(t, func(t *testing.T, d Handler) {
		g, _ := run(t, d, "container_1_1_1_1", Limits{}, "while :; do :; done")
		starved := func() time.Duration {
			use, err := g.Usage()
			if err != nil {
				t.Fatal(err)
			}
			return use.Starved
		}
		if d.Kind() == V1 || d.Kind() == None {
			if got := starved(); got != -1 {
				t.Errorf("%v, and the kernel doesn't tell", got)
			}
			return
		}
		top, _, _, _ := d.(*kernelHandler).limiter.weight(1)
		if top == "" {
			return // the hierarchy hasn't the controller on this machine, and there is nothing to throttle with
		}
		file, text := filepath.Join(top, "cpu.max"), "2000 100000"
		if _, err := os.Stat(file); err != nil {
			file, text = filepath.Join(top, "cpu.cfs_quota_us"), "2000"
		}
		before := starved()
		if before < 0 {
			t.Fatal("the kernel doesn't tell")
		}
		if err := os.WriteFile(file, []byte(text), 0); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		await.Until(t, "the group has had no processor for a second", func() bool { return starved()-before > time.Second })
		if took := time.Since(begun); starved()-before > took+took/2 {
			t.Errorf("%v of %v", starved()-before, took)
		}
	})
}
