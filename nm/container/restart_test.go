package container

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"heddle/internal/await"
	"heddle/nm/cgroup"
	"heddle/nm/kept"
	"heddle/nm/localizer"
	"heddle/nm/proc"
	"heddle/nm/workdir"
	"heddle/yarn/records"
)

// runNode is the body of a child process: a life of a node that starts what its parent says, until it is killed.
func runNode(dir string) {
	h := &hooked{}
	n, err := startNode(dir, func(o *Options) { h.tweak(o); pressure(12 << 30)(o) })
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	in := bufio.NewScanner(os.Stdin)
	fmt.Println("ready")
	for in.Scan() {
		verb, rest, _ := strings.Cut(in.Text(), " ")
		var seq int64
		command := ""
		if verb == "start" {
			fmt.Sscan(rest, &seq)
			_, command, _ = strings.Cut(rest, " ")
			j := job{id: containerID(1, seq), user: "ann", memory: 256, command: command}
			err = n.Start(j.grant(0), j.context(), j.token(0))
		} else if verb == "hold" {
			var state State
			fmt.Sscan(rest, (*int)(&state), &command)
			err = n.hold(state, command)
		} else {
			fmt.Sscan(rest, &seq)
			var c *Container
			if c, err = n.Container(containerID(1, seq)); err == nil {
				switch verb {
				case "suspend":
					err = c.Suspend(c.ctx)
				case "climb":
					_, step, _ := strings.Cut(rest, " ")
					n.climb(h, c, step)
				case "kill":
					c.Kill(records.ExitKilledByAppMaster, "Container killed by the ApplicationMaster.\n")
					err = c.Saved(c.m.ctx)
				case "wait":
					err = c.WaitDone(c.m.ctx)
				}
			}
		}
		if err != nil {
			fmt.Println("error:", err)
		} else {
			fmt.Println("ok")
		}
	}
	select {}
}

// child is a node in a process of its own.
type child struct {
	t   *testing.T
	cmd *exec.Cmd
	in  *bufio.Writer
	out *bufio.Scanner
}

func startChild(t *testing.T, dir string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CONTAINER_TEST_NODE="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, cmd: cmd, in: bufio.NewWriter(in), out: bufio.NewScanner(out)}
	t.Cleanup(c.kill)
	c.expect("ready")
	return c
}

func (c *child) kill() {
	if c.cmd.ProcessState == nil {
		c.cmd.Process.Kill()
		c.cmd.Wait()
	}
}

func (c *child) expect(want string) {
	c.t.Helper()
	if !c.out.Scan() || c.out.Text() != want {
		c.t.Fatalf("the node said %q, want %q", c.out.Text(), want)
	}
}

func (c *child) do(format string, args ...any) {
	c.t.Helper()
	fmt.Fprintf(c.in, format+"\n", args...)
	if err := c.in.Flush(); err != nil {
		c.t.Fatal(err)
	}
	c.expect("ok")
}

// newDeadLab is a lab whose node has not been started; the first life belongs to a child process.
func newDeadLab(t testing.TB) *lab {
	l := &lab{t: t, dir: t.TempDir()}
	t.Cleanup(func() {
		if l.node != nil {
			l.shutdown()
		}
		l.checkNothingLeft()
	})
	return l
}

func TestContainersOutliveAKilledNodeManager(t *testing.T) {
	l := newDeadLab(t)
	node := startChild(t, l.dir)
	dir := t.TempDir()
	node.do("start 1 touch %s/one; while ! [ -e %[1]s/go ]; do sleep 0.01; done; exit 11", dir)
	node.do("start 2 touch %s/two; while ! [ -e %[1]s/end ]; do sleep 0.01; done; exit 12", dir)
	node.do("start 3 while :; do echo; done > %s/three", dir)
	node.do("start 4 exit 4")
	node.do("start 5 setsid --fork sleep 600; touch %s/five; sleep 600; :", dir)
	node.do("wait 4")
	for _, f := range []string{"one", "two", "three", "five"} {
		waitFile(t, dir+"/"+f)
	}
	node.do("suspend 3")
	node.kill()
	// one ends while there is no NodeManager
	if err := os.WriteFile(dir+"/end", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l.waitStatus(2, "exit 12")

	l.start()
	for seq, want := range map[int64]State{1: Running, 3: Paused, 4: Done, 5: Running} {
		c := l.container(containerID(1, seq))
		await.Until(t, fmt.Sprintf("%s of %s", want, c), func() bool { return c.State() == want })
	}
	if s := waitDone(t, l.container(containerID(1, 2))); s.ExitCode != 12 || !strings.Contains(s.Diagnostics, "exit code 12") {
		t.Errorf("ended meanwhile: exit code %d, %q", s.ExitCode, s.Diagnostics)
	}
	if s := l.container(containerID(1, 4)).Status(); s.ExitCode != 4 || !strings.Contains(s.Diagnostics, "exit code 4") {
		t.Errorf("ended before: exit code %d, %q", s.ExitCode, s.Diagnostics)
	}
	// the living are still ours: they are waited for, resumed, killed
	if err := os.WriteFile(dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if s := waitDone(t, l.container(containerID(1, 1))); s.ExitCode != 11 {
		t.Errorf("exit code %d, %q", s.ExitCode, s.Diagnostics)
	}
	c := l.container(containerID(1, 3))
	before := size(t, dir+"/three")
	if err := c.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "progress", func() bool { return size(t, dir+"/three") > before })
	five := l.container(containerID(1, 5))
	five.Kill(records.ExitKilledByAppMaster, "Container killed by the ApplicationMaster.\n")
	if s := waitDone(t, five); s.ExitCode != records.ExitKilledByAppMaster || !strings.Contains(s.Diagnostics, "Exit code is 143") {
		t.Errorf("exit code %d, %q", s.ExitCode, s.Diagnostics)
	}
}

// waitStatus waits until a container's status file has a line.
func (l *lab) waitStatus(seq int64, line string) {
	l.t.Helper()
	pattern := filepath.Join(l.dir, "local*", localizer.NMPrivate, appID(1).String(), containerID(1, seq).String(), workdir.StatusFile)
	await.Until(l.t, line, func() bool {
		found, _ := filepath.Glob(pattern)
		if len(found) != 1 {
			return false
		}
		b, _ := os.ReadFile(found[0])
		return strings.Contains(string(b), line+"\n")
	})
}

func TestAKillIsNotForgotten(t *testing.T) {
	l := newDeadLab(t)
	l.tweak = func(o *Options) { o.Config.KillGrace = brief }
	node := startChild(t, l.dir)
	dir := t.TempDir()
	node.do("start 1 trap '' TERM; touch %s/one; while :; do sleep 0.01; done", dir)
	waitFile(t, dir+"/one")
	// it dies in the grace between SIGTERM and SIGKILL
	node.do("kill 1")
	node.kill()
	l.start()
	s := waitDone(t, l.container(containerID(1, 1)))
	if s.ExitCode != records.ExitKilledByAppMaster || !strings.Contains(s.Diagnostics, "Container killed by the ApplicationMaster.\n") {
		t.Errorf("exit code %d, %q", s.ExitCode, s.Diagnostics)
	}
}

// At any moment of a container's start the NodeManager may die. The container is then running, or is started by the
// next life, or nobody was told of it; never twice, and never lost.
func TestKilledWhileContainersStart(t *testing.T) {
	l := newDeadLab(t)
	dir := t.TempDir()
	const n = 12
	var accepted []int64
	seq := int64(0)
	for range 4 {
		node := startChild(t, l.dir)
		for range n / 4 {
			seq++
			node.do("start %d echo $$ >> %s/%[1]d; while ! [ -e %[2]s/go ]; do sleep 0.01; done; exit 7", seq, dir)
			accepted = append(accepted, seq)
		}
		node.kill() // while the last ones are on their way
	}
	l.start()
	for _, seq := range accepted {
		c := l.container(containerID(1, seq))
		await.Until(t, c.String(), func() bool {
			if c.State() == Done {
				t.Fatalf("%s: %s", c, c.Status().Diagnostics)
			}
			return c.State() == Running && exists(fmt.Sprintf("%s/%d", dir, seq))
		})
	}
	if err := os.WriteFile(dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, seq := range accepted {
		if s := waitDone(t, l.container(containerID(1, seq))); s.ExitCode != 7 {
			t.Errorf("container %d: exit code %d, %q", seq, s.ExitCode, s.Diagnostics)
		}
		b, err := os.ReadFile(fmt.Sprintf("%s/%d", dir, seq))
		if err != nil || strings.Count(string(b), "\n") != 1 {
			t.Errorf("container %d ran %d times, %v", seq, strings.Count(string(b), "\n"), err)
		}
	}
}

func TestLeftoversOfAnUnknownContainerAreRemoved(t *testing.T) {
	l := newDeadLab(t)
	node := startChild(t, l.dir)
	dir := t.TempDir()
	node.do("start 1 setsid --fork sleep 600; echo $$ > %s/one; sleep 600; :", dir)
	await.Until(t, "the pid", func() bool { b, _ := os.ReadFile(dir + "/one"); return len(b) > 0 })
	node.kill()
	var pid int
	text, _ := os.ReadFile(dir + "/one")
	fmt.Sscan(string(text), &pid)
	// its state is lost
	if err := os.RemoveAll(l.dir + "/state"); err != nil {
		t.Fatal(err)
	}
	l.start()
	if l.node.handler.Kind() == "none" {
		syscall.Kill(-pid, syscall.SIGKILL) // nobody can know of it then
	}
	if p, err := proc.Read(pid); err == nil && !p.Dead() {
		t.Errorf("its process lives: %+v", p)
	}
	await.Until(t, "removal of its folders", func() bool {
		for _, local := range []string{"/local1", "/local2"} {
			if exists(localizer.AppDir(l.dir+local, "ann", appID(1))) || exists(workdir.PrivateApp(l.dir+local, appID(1))) {
				return false
			}
		}
		return true
	})
	if got := l.node.Containers(); len(got) > 0 {
		t.Errorf("containers %v", got)
	}
}

// A NodeManager that dies when it has put a process into a group, and before that is on disk, leaves one that nobody knows. Its container
// is started all the same.
func TestAProcessThatWasNotNotedDown(t *testing.T) {
	g := &gates{t: t}
	l := newLab(t, g.tweak)
	open := g.shut(&g.localizing)
	c := l.run(job{id: containerID(1, 1), command: "sleep 600; :"})
	steps.until(t, c, Localizing)
	l.node.close()
	l.node = nil
	open()
	handler, err := cgroup.Detect(cgroup.Options{ID: labID(l.dir), Log: silent()})
	if err != nil {
		t.Fatal(err)
	}
	group, err := handler.Create(c.ID().String(), cgroup.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	left := exec.Command("sleep", "600")
	left.Env = append(os.Environ(), cgroup.Marker+"="+c.ID().String())
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(group.Add(left.Process.Pid), handler.Close()); err != nil {
		t.Error(err)
	}
	l.start()
	if err := left.Wait(); err == nil || left.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("what was left has ended by itself: %v", err)
	}
	steps.until(t, c, Running)
}

func TestAnotherRunOfTheMachine(t *testing.T) {
	l := newLab(t)
	c := l.run(job{id: containerID(1, 1), command: "sleep 600; :"})
	await.Until(t, "RUNNING", func() bool { return c.Status().PID != 0 })
	// as a restart of the machine would: the processes are gone, and their pids mean others
	group := c.Group()
	l.node.close()
	if err := group.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	n, err := startNode(l.dir, func(o *Options) {
		l.tweak(o)
		o.ContainerRecords = bootless{o.ContainerRecords}
	})
	if err != nil {
		t.Fatal(err)
	}
	l.node = n
	s := waitDone(t, l.container(c.ID()))
	if s.ExitCode != 154 || !strings.Contains(s.Diagnostics, "exit code 154") {
		t.Errorf("exit code %d, %q", s.ExitCode, s.Diagnostics)
	}
}

// bootless makes records look as if they were from an earlier run of the machine, whose pids mean nothing now.
type bootless struct{ Bucket }

func (b bootless) ForEach(prefix string, f func(string, []byte) error) error {
	return b.Bucket.ForEach(prefix, func(key string, value []byte) error {
		text := string(value)
		if strings.HasSuffix(key, kept.RecordKey) {
			text = strings.Replace(text, `"boot":"`, `"boot":"earlier-`, 1)
			text = strings.Replace(text, `"pid":`, `"pid":1,"was":`, 1)
		}
		return f(key, []byte(text))
	})
}

func TestApplicationsThatWereEndingGoOn(t *testing.T) {
	l := newLab(t, func(o *Options) { o.Config.KillGrace = brief })
	c := l.run(job{id: containerID(1, 1), command: "trap '' TERM; while :; do sleep 0.01; done"})
	await.Until(t, "RUNNING", func() bool { return c.State() == Running })
	l.node.FinishApplication(appID(1), "because")
	l.restart()
	await.Until(t, "the end of the application", func() bool { _, found := l.node.Application(appID(1)); return !found })
	if exists(localizer.AppDir(l.dir+"/local1", "ann", appID(1))) {
		t.Error("its folder is left")
	}
	if app, ok := l.node.logs.started[appID(1)]; !ok || app.User != "ann" {
		t.Errorf("logs were not told: %+v", app)
	}
}
