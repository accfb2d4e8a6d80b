package container

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/nm/cgroup"
	"heddle/nm/monitor"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// counting writes a line again and again, so that its progress can be seen.
const counting = "while :; do echo; done > count"

func TestSuspendAndResume(t *testing.T) {
	l := newLab(t)
	c := l.run(job{id: containerID(1, 1), command: counting})
	await.Until(t, "RUNNING", func() bool { return c.State() == Running })
	file := c.Status().WorkDir + "/count"
	await.Until(t, "progress", func() bool { return exists(file) && size(t, file) > 0 })
	for range 2 {
		if err := c.Suspend(t.Context()); err != nil { // the second time it is no error
			t.Fatal(err)
		}
	}
	s := c.Status()
	if s.State != Paused || s.State.SubPB() != pb.ContainerSubState_CSS_PAUSED || !s.Suspended || s.ExitCode != records.ExitInvalid {
		t.Errorf("status %+v", s)
	}
	before := size(t, file)
	for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); {
	}
	if after := size(t, file); after != before {
		t.Errorf("it wrote %d bytes while suspended", after-before)
	}
	for range 2 {
		if err := c.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	await.Until(t, "progress", func() bool { return size(t, file) > before })
	if s := c.Status(); s.State != Running || s.Suspended {
		t.Errorf("status %+v", s)
	}
	if err := c.Suspend(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Kill(records.ExitKilledByResourceManager, "Container Killed by ResourceManager\n")
	if s := waitDone(t, c); s.ExitCode != records.ExitKilledByResourceManager || s.Suspended {
		t.Errorf("status %+v", s)
	}
	if err := c.Suspend(t.Context()); !errors.Is(err, ErrNotRunning) {
		t.Errorf("suspended after its end: %v", err)
	}
	if err := c.Resume(t.Context()); !errors.Is(err, ErrNotSuspended) {
		t.Errorf("resumed after its end: %v", err)
	}
}

// A frozen container that was killed got no SIGTERM, and so no chance to save its work.
func TestAFrozenContainerThatIsKilledGetsItsGrace(t *testing.T) {
	l := newLab(t)
	saved := filepath.Join(t.TempDir(), "saved")
	c := l.run(job{id: containerID(1, 1), command: "trap 'echo done > " + saved + "; exit 0' TERM; touch ready; while :; do sleep 0.01; done"})
	await.Until(t, "RUNNING", func() bool { return c.State() == Running })
	waitFile(t, c.Status().WorkDir+"/ready")
	if err := c.Suspend(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Kill(records.ExitKilledByResourceManager, "Container Killed by ResourceManager\n")
	if s := waitDone(t, c); s.ExitCode != 0 || !exists(saved) { // it ended by itself in time, with success
		t.Errorf("status %+v; it saved its work: %v", s, exists(saved))
	}
}

// One that can't be let run for its grace is killed without SIGTERM, and its diagnostics say so and why.
func TestAFrozenContainerThatGetsNoGraceSaysSo(t *testing.T) {
	h := &hooked{}
	l := newLab(t, h.tweak)
	saved := filepath.Join(t.TempDir(), "saved")
	c := l.run(job{id: containerID(1, 1), command: "trap 'echo done > " + saved + "; exit 0' TERM; touch ready; while :; do sleep 0.01; done"})
	await.Until(t, "RUNNING", func() bool { return c.State() == Running })
	waitFile(t, c.Status().WorkDir+"/ready")
	if err := c.Suspend(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.set(func(h *hooked) { h.thaw = func() error { return errors.New("the group doesn't thaw") } })
	c.Kill(records.ExitKilledByResourceManager, "Container Killed by ResourceManager\n")
	s := waitDone(t, c)
	if want := "Container was suspended and is killed without SIGTERM: the group doesn't thaw\n"; s.ExitCode == 0 || exists(saved) || !strings.Contains(s.Diagnostics, want) {
		t.Errorf("status %+v, not %q; it saved its work: %v", s, want, exists(saved))
	}
}

func TestMemoryLimitOfTheKernel(t *testing.T) {
	l := newLab(t)
	if !l.node.handler.Capabilities().MemoryLimit {
		return // TestMemoryLimitByLooking covers such machines
	}
	for i, command := range []string{
		"head -c 1000000000 /dev/zero | tail", "head -c 1000000000 /dev/zero | tail; sleep 600; :", "exec tail < <(head -c 1000000000 /dev/zero)",
		"head -c 1000000000 /dev/zero | tail || exit 3", // its own code, before or after the node has seen what the kernel did
	} {
		s := waitDone(t, l.run(job{id: containerID(1, int64(i+1)), command: command, memory: 32}))
		if s.ExitCode != records.ExitKilledExceededPMem || !strings.Contains(s.Diagnostics, "B beyond the 'PHYSICAL' memory limit. Current usage: 3") ||
			!strings.Contains(s.Diagnostics, " MB of 32.0 MB physical memory used; ") {
			t.Errorf("%q: exit code %d, %q", command, s.ExitCode, s.Diagnostics)
		}
		if s.Usage.Peak < 30<<20 || s.Usage.Peak > 32<<20 {
			t.Errorf("%q: peak %d", command, s.Usage.Peak)
		}
	}
}

// withoutCgroups makes a lab as it is where there are none.
func withoutCgroups(o *Options) {
	d, err := cgroup.Detect(cgroup.Options{Kind: cgroup.None, Log: o.Log})
	if err != nil {
		panic(err)
	}
	o.Groups = d
}

func TestMemoryLimitByLooking(t *testing.T) {
	l := newLab(t, withoutCgroups)
	c := l.run(job{id: containerID(1, 1), command: "x=\\$(head -c 100000000 /dev/zero | tr '\\0' x); touch ready; while :; do sleep 0.01; done", memory: 32})
	await.Until(t, "RUNNING", func() bool { return c.State() == Running })
	waitFile(t, c.Status().WorkDir+"/ready")
	for range 2 { // it is more than double, but be safe
		if err := l.node.monitor.Sample(); err != nil {
			t.Fatal(err)
		}
	}
	s := waitDone(t, c)
	if s.ExitCode != records.ExitKilledExceededPMem || s.Usage.Peak < 90<<20 {
		t.Errorf("exit code %d, peak %d", s.ExitCode, s.Usage.Peak)
	}
	for _, want := range []string{
		"is running ", "B beyond the 'PHYSICAL' memory limit. Current usage: ", " MB of 32.0 MB physical memory used; ",
		" MB of 67.2 MB virtual memory used. Killing container.\nDump of the process-tree for " + c.ID().String() + " :\n\t|- PID PPID",
		"(bash)",
	} {
		if !strings.Contains(s.Diagnostics, want) {
			t.Errorf("no %q in %q", want, s.Diagnostics)
		}
	}
}

func TestVirtualMemoryLimit(t *testing.T) {
	l := newLab(t)
	c := l.run(job{id: containerID(1, 1), command: "while :; do sleep 0.01; done", memory: 64})
	l.node.monitor = l.node.watch(monitor.Config{VirtualCheck: true, VirtualRatio: 0.01})
	await.Until(t, "RUNNING", func() bool { return c.State() == Running })
	await.Until(t, "a kill", func() bool { return l.node.monitor.Sample() == nil && c.killed() != nil })
	if s := waitDone(t, c); s.ExitCode != records.ExitKilledExceededVMem || !strings.Contains(s.Diagnostics, "beyond the 'VIRTUAL' memory limit") {
		t.Errorf("exit code %d, %q", s.ExitCode, s.Diagnostics)
	}
}

func TestSamples(t *testing.T) {
	l := newLab(t)
	c := l.run(job{id: containerID(1, 1), command: "while :; do :; done"})
	await.Until(t, "RUNNING", func() bool { return c.State() == Running })
	var u monitor.Usage
	await.Until(t, "CPU use", func() bool {
		if err := l.node.monitor.Sample(); err != nil {
			t.Fatal(err)
		}
		u = c.Status().Usage
		return u.CPU > 0.05 && u.Virtual >= u.Physical // which isn't so while a process is about to run another program
	})
	if u.CPU > 2 || u.CPUTime <= 0 || u.Physical <= 0 || u.Peak < u.Physical {
		t.Errorf("implausible: %+v", u)
	}
}

func TestWithoutCgroups(t *testing.T) {
	l := newLab(t, withoutCgroups)
	c := l.run(job{id: containerID(1, 1), command: "setsid --fork sleep 600; touch ready; " + counting})
	await.Until(t, "RUNNING", func() bool { return c.State() == Running })
	waitFile(t, c.Status().WorkDir+"/ready")
	if err := c.Suspend(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Kill(records.ExitKilledByAppMaster, "")
	if s := waitDone(t, c); s.ExitCode != records.ExitKilledByAppMaster {
		t.Errorf("exit code %d, %q", s.ExitCode, s.Diagnostics)
	}
	// that the daemon is gone as well the lab checks
}

func retry(policy pb.ContainerRetryPolicy, max int32, codes ...int32) *pb.ContainerRetryContext {
	r := &pb.ContainerRetryContext{}
	r.SetRetryPolicy(policy)
	r.SetMaxRetries(max)
	r.SetErrorCodes(codes)
	return r
}

func TestRetries(t *testing.T) {
	l := newLab(t)
	for i, c := range []struct {
		retry *pb.ContainerRetryContext
		exit  string // of try number $n
		code  int
		tries int
	}{
		{nil, "3", 3, 1},
		{retry(pb.ContainerRetryPolicy_NEVER_RETRY, 5), "3", 3, 1},
		{retry(pb.ContainerRetryPolicy_RETRY_ON_ALL_ERRORS, 2), "3", 3, 3},
		{retry(pb.ContainerRetryPolicy_RETRY_ON_ALL_ERRORS, -1), "\\$(( n < 4 ? 3 : 0 ))", 0, 4},
		{retry(pb.ContainerRetryPolicy_RETRY_ON_SPECIFIC_ERROR_CODES, 5, 7, 8), "\\$(( n < 3 ? 7 : 9 ))", 9, 3},
		{retry(pb.ContainerRetryPolicy_RETRY_ON_ALL_ERRORS, 5), "143", 143, 1}, // a kill is no failure
	} {
		cont := l.run(job{
			id: containerID(1, int64(i+1)), retry: c.retry,
			command: "n=\\$(wc -l < tries); n=\\$(( n + 1 )); echo >> tries; cp tries " + l.dir + fmt.Sprintf("/tries%d", i) + "; exit " + c.exit,
		})
		s := waitDone(t, cont)
		if got := int(size(t, fmt.Sprintf("%s/tries%d", l.dir, i))); s.ExitCode != c.code || got != c.tries {
			t.Errorf("%d: exit code %d after %d tries, want %d after %d", i, s.ExitCode, got, c.code, c.tries)
		}
	}
}

func TestKillBetweenRetries(t *testing.T) {
	l := newLab(t)
	r := retry(pb.ContainerRetryPolicy_RETRY_ON_ALL_ERRORS, -1)
	r.SetRetryInterval(3600_000)
	c := l.run(job{id: containerID(1, 1), retry: r, command: "exit 3"})
	await.Until(t, "RELAUNCHING", func() bool { return c.State() == Relaunching })
	c.Kill(records.ExitKilledByAppMaster, "Container killed by the ApplicationMaster.\n")
	if s := waitDone(t, c); s.ExitCode != records.ExitKilledByAppMaster {
		t.Errorf("exit code %d, %q", s.ExitCode, s.Diagnostics)
	}
}

func TestReinitialize(t *testing.T) {
	l := newLab(t)
	c := l.run(job{id: containerID(1, 1), command: "echo old >> log; sleep 600; :", resources: map[string]*pb.LocalResource{"a": l.file("a", "A")}})
	await.Until(t, "RUNNING", func() bool { return c.State() == Running })
	log := c.Status().WorkDir + "/log"
	is := func(want string) {
		t.Helper()
		await.Until(t, want, func() bool { b, _ := os.ReadFile(log); return string(b) == want && c.State() == Running })
	}
	is("old\n")
	if err := c.Commit(); !errors.Is(err, ErrNothingToCommit) {
		t.Errorf("commit of nothing: %v", err)
	}
	if err := c.Rollback(); !errors.Is(err, ErrNothingToRollback) {
		t.Errorf("rollback of nothing: %v", err)
	}
	if err := c.Restart(); err != nil {
		t.Fatal(err)
	}
	is("old\nold\n")
	next := job{command: "cat a b >> log; sleep 600; :", resources: map[string]*pb.LocalResource{"b": l.file("b", "B\n")}}
	if err := c.Reinitialize(next.context(), false); err != nil {
		t.Fatal(err)
	}
	is("old\nold\nAB\n")
	if err := c.Rollback(); err != nil {
		t.Fatal(err)
	}
	is("old\nold\nAB\nold\n")
	// what fails before it is committed is taken back by itself
	if err := c.Reinitialize((job{command: "echo bad >> log; exit 3"}).context(), false); err != nil {
		t.Fatal(err)
	}
	is("old\nold\nAB\nold\nbad\nold\n")
	// what can't be localized changes nothing
	missing := l.file("c", "C")
	missing.SetTimestamp(1)
	if err := c.Reinitialize((job{command: "true", resources: map[string]*pb.LocalResource{"c": missing}}).context(), true); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the failure", func() bool { return strings.Contains(c.Status().Diagnostics, "Re-init failed !!") })
	if err := c.Reinitialize(next.context(), true); err != nil {
		t.Fatal(err)
	}
	is("old\nold\nAB\nold\nbad\nold\nAB\n")
	if err := c.Rollback(); !errors.Is(err, ErrNothingToRollback) {
		t.Errorf("rollback of what was committed: %v", err)
	}
	if !strings.Contains(c.Status().Diagnostics, "Container will be Re-initialized.\n") || !strings.Contains(c.Status().Diagnostics, "Container Re-init Auto Rolled-Back.\n") {
		t.Errorf("diagnostics %q", c.Status().Diagnostics)
	}
}

func TestLocalizeForARunningContainer(t *testing.T) {
	l := newLab(t)
	c := l.run(job{id: containerID(1, 1), command: "sleep 600; :"})
	await.Until(t, "RUNNING", func() bool { return c.State() == Running })
	bad := l.file("bad", "x")
	bad.SetTimestamp(1)
	if err := c.Localize(map[string]*pb.LocalResource{"sub/new": l.file("new", "NEW"), "bad": bad}); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "both", func() bool {
		s := c.LocalizationStatuses()
		return len(s) == 2 && s[0].State == pb.LocalizationState_L_FAILED && s[1].State == pb.LocalizationState_L_COMPLETED
	})
	if why := c.LocalizationStatuses()[0].Why; !strings.Contains(why, "changed on src filesystem") {
		t.Errorf("why: %q", why)
	}
	if b, err := os.ReadFile(c.Status().WorkDir + "/sub/new"); err != nil || string(b) != "NEW" {
		t.Errorf("%q, %v", b, err)
	}
	for _, link := range []string{"../x", "/x", ""} {
		if err := c.Localize(map[string]*pb.LocalResource{link: l.file("new", "NEW")}); err == nil {
			t.Errorf("%q was accepted", link)
		}
	}
	c.Kill(records.ExitKilledByAppMaster, "")
	waitDone(t, c)
	if err := c.Localize(nil); err == nil || !strings.Contains(err.Error(), "Cannot perform LOCALIZE on ["+c.ID().String()+"]. Current state is [DONE") {
		t.Errorf("after the end: %v", err)
	}
}

func TestUpdate(t *testing.T) {
	l := newLab(t)
	j := job{id: containerID(1, 1), user: "ann", memory: 256, command: "sleep 600; :"}
	c := l.run(j)
	await.Until(t, "RUNNING", func() bool { return c.State() == Running })
	big := j
	big.memory = 512
	if err := c.Update(t.Context(), big.grant(1), big.token(1)); err != nil {
		t.Fatal(err)
	}
	if g := c.Grant(); g.Resource.MemoryMB() != 512 || g.Version != 1 {
		t.Errorf("grant %+v", g)
	}
	if err := c.Update(t.Context(), j.grant(1), j.token(1)); !errors.Is(err, ErrVersion) {
		t.Errorf("an old version: %v", err)
	}
	if used := l.node.room.Used().MemoryMB(); used != 512 {
		t.Errorf("%d MB are counted", used)
	}
	l.restart()
	c = l.container(c.ID())
	if g := c.Grant(); g.Resource.MemoryMB() != 512 || g.Version != 1 {
		t.Errorf("grant after a restart %+v", g)
	}
	c.Kill(records.ExitKilledByAppMaster, "")
	waitDone(t, c)
	if used := l.node.room.Used(); !used.IsZero() {
		t.Errorf("%v are counted after the end", used)
	}
}

// A change may come between the start of a process and the moment from which it is waited for.
func TestChangeBeforeTheProcessIsAwaited(t *testing.T) {
	m := &Manager{}
	c := &Container{m: m, state: Running, log: silent()}
	if err := c.change("RE_INIT", &reinit{}); err != nil {
		t.Fatal(err)
	}
	m.lives.Wait()
	if (life{c}).takeReinit() == nil {
		t.Error("the change is lost")
	}
}
