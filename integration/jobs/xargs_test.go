package jobs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/needs"
	"heddle/internal/output"
	"heddle/yarn/pb"
)

// xargs is a heddle xargs that runs.
type xargs struct {
	*job
	in io.WriteCloser
}

func (c *cluster) xargs(args ...string) *xargs {
	c.t.Helper()
	return c.startXargs("", nil, args...)
}

// startXargs starts one of a user; "" is whoever runs the tests. Its standard output goes to a file, if there is one.
func (c *cluster) startXargs(user string, to *os.File, args ...string) *xargs {
	c.t.Helper()
	j := &job{c: c, stdout: &output.Buffer{}, stderr: &output.Buffer{}, done: make(chan error, 1)}
	j.cmd = exec.Command(c.binary, append([]string{"xargs", "--conf", c.conf}, args...)...)
	j.cmd.Dir = c.dir
	if user != "" {
		j.cmd.Env = append(os.Environ(), "HADOOP_USER_NAME="+user)
	}
	j.cmd.Stdout, j.cmd.Stderr = j.stdout, j.stderr
	if to != nil {
		j.cmd.Stdout = to
	}
	j.cmd.SysProcAttr = attributes()
	in, err := j.cmd.StdinPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := j.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	go func() { j.done <- j.cmd.Wait() }()
	return &xargs{j, in}
}

func (x *xargs) feed(from, to int) {
	x.c.t.Helper()
	for i := from; i < to; i++ {
		if _, err := fmt.Fprintln(x.in, i); err != nil {
			x.c.t.Error(err)
			return
		}
	}
}

// code waits for the exit code.
func (x *xargs) code() int {
	x.c.t.Helper()
	select {
	case err := <-x.done:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			x.c.t.Fatal(err)
		}
		return x.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		x.cmd.Process.Kill()
		x.c.t.Fatalf("it isn't over after %v:\n%s", patience, x.stderr)
		return 0
	}
}

// eachOnce ends the input. Commands print numbers: those below n must come once each.
func (x *xargs) eachOnce(n int) {
	x.c.t.Helper()
	x.in.Close()
	if code := x.code(); code != 0 {
		x.c.t.Fatalf("exit code %d: %s", code, x.stderr)
	}
	var got []int
	for _, l := range lines(x.stdout.String()) {
		got = append(got, must(strconv.Atoi(l)))
	}
	slices.Sort(got)
	for i, k := range got {
		if k != i {
			x.c.t.Fatalf("%d is there twice, or a number below is missing", k)
		}
	}
	if len(got) != n {
		x.c.t.Errorf("%d results instead of %d", len(got), n)
	}
}

// oneSucceeded asserts that there was one application, which has succeeded.
func (c *cluster) oneSucceeded() {
	c.t.Helper()
	if list := must(c.applications().List(c.t.Context(), nil)); len(list) != 1 || !list[0].Succeeded() {
		c.t.Errorf("applications: %+v", list)
	}
}

// numbers reads files of numbers, one for each command that waits.
func numbers(t *testing.T, pattern string, n int) []int {
	t.Helper()
	return await.Value(t, fmt.Sprintf("%d files %s", n, pattern), func() ([]int, bool) {
		var all []int
		for _, f := range must(filepath.Glob(pattern)) {
			b, _ := os.ReadFile(f)
			if i, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && strings.HasSuffix(string(b), "\n") {
				all = append(all, i)
			}
		}
		return all, len(all) == n
	})
}

func gone(t *testing.T, pid int) {
	t.Helper()
	await.Until(t, fmt.Sprintf("the end of process %d", pid), func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}

// Executors, a node with its executors, and the leading ResourceManager are lost while commands run: each command has one result, and
// nothing is left in the end.
func TestXargsOutlivesFailures(t *testing.T) {
	c := startCluster(t, 3, 2, nil)
	held := filepath.Join(c.dir, "held")
	if err := os.Mkdir(held, 0o755); err != nil {
		t.Fatal(err)
	}
	// Numbers from 100 to 199 wait until they may go on.
	x := c.xargs("-P", "8", "-I{}", "sh", "-c",
		`case {} in 1??) echo $PPID > `+held+`/{}.part; mv `+held+`/{}.part `+held+`/{}; while ! test -e go; do sleep 0.02; done;; esac; echo {}`)
	x.feed(0, 100)
	await.Until(t, "the first hundred", func() bool { return strings.Count(x.stdout.String(), "\n") == 100 })
	x.feed(100, 140)
	executors := numbers(t, held+"/1??", 8)
	for _, pid := range executors[:3] {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	c.Kill(c.leader())
	for _, pid := range executors[:3] {
		gone(t, pid)
	}
	c.Kill("nm1")
	if err := os.WriteFile(filepath.Join(c.dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	x.feed(140, 400)
	x.eachOnce(400)
	c.start("nm1")
	c.ready(2)
	for _, pid := range executors {
		gone(t, pid)
	}
	c.oneSucceeded()
}

// A client that stands still for longer than connections live goes on where it was: each command has one result. So does one whose executors were
// lost meanwhile.
func TestXargsStandsStill(t *testing.T) {
	hadooplab.SkipUnlessFull(t) // it stands still for half a minute
	c := startCluster(t, 1, 2, map[string]string{"heddle.probes.memory-mb": "2048", "heddle.probes.vcores": "4"})
	for i, mode := range []string{"--no-bar", "--probes"} {
		held := filepath.Join(c.dir, fmt.Sprint("held", i))
		if err := os.Mkdir(held, 0o755); err != nil {
			t.Fatal(err)
		}
		x := c.xargs(mode, "-P", "8", "-I{}", "sh", "-c",
			`case {} in 1??) echo $PPID > `+held+`/{}.part; mv `+held+`/{}.part `+held+`/{}; while ! test -e `+held+`/go; do sleep 0.02; done;; esac; echo {}`)
		x.feed(0, 140)
		executors := numbers(t, held+"/1??", 8)
		if err := x.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(executors[0], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second) // the fault itself
		if err := os.WriteFile(filepath.Join(held, "go"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := x.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		x.feed(140, 300)
		x.eachOnce(300)
	}
}

// Signals, Ctrl-C among them, and a kill −9 end all commands with their daemons, and the application.
func TestXargsLeavesNothing(t *testing.T) {
	needs.Signals(t, syscall.SIGHUP, syscall.SIGINT)
	c := startCluster(t, 1, 1, nil)
	script := `setsid sh -c 'echo $$ > '$0'; exec sleep 10000' >/dev/null 2>&1 & sleep 10000`
	for _, test := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGINT, 130}, {syscall.SIGHUP, 129}, {syscall.SIGKILL, -1}} {
		pids := filepath.Join(c.dir, test.signal.String())
		if err := os.Mkdir(pids, 0o755); err != nil {
			t.Fatal(err)
		}
		x := c.xargs("-P2", "-n1", "sh", "-c", script)
		for _, name := range []string{"a", "b", "c"} {
			fmt.Fprintf(x.in, "'%s/%s'\n", pids, name)
		}
		daemons := numbers(t, strings.ReplaceAll(pids, " ", "?")+"/*", 2)
		if err := x.cmd.Process.Signal(test.signal); err != nil {
			t.Fatal(err)
		}
		if code := x.code(); code != test.code {
			t.Errorf("exit code %d after %v", code, test.signal)
		}
		for _, pid := range daemons {
			gone(t, pid)
		}
	}
	await.Until(t, "the end of the applications", func() bool {
		ended := map[pb.YarnApplicationState]int{}
		for _, r := range must(c.applications().List(t.Context(), nil)) {
			ended[r.State]++
		}
		return ended[pb.YarnApplicationState_FINISHED] == 2 && ended[pb.YarnApplicationState_KILLED] == 1
	})

	// Who doesn't want to wait until a lost ResourceManager has heard of the end presses Ctrl-C again.
	pid := filepath.Join(c.dir, "pid")
	x := c.xargs("-n1", "sh", "-c", `echo $$ > $0; exec sleep 10000`)
	fmt.Fprintln(x.in, pid)
	commands := numbers(t, pid, 1)
	c.Kill("rm1")
	await.Until(t, "the end by Ctrl-C", func() bool {
		_ = x.cmd.Process.Signal(syscall.SIGINT) // it may have ended
		return len(x.done) > 0
	})
	if code := x.code(); code != -1 {
		t.Errorf("exit code %d after more than one Ctrl-C", code)
	}
	gone(t, commands[0])
}

// An executor that a signal has stopped ends for it, with its container, and the command runs in another one.
func TestXargsOutlivesAStoppedExecutor(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	c := startCluster(t, 1, 1, nil)
	x := c.xargs("-n1", "sh", "-c", `if mkdir stopped; then echo $PPID >pid; kill -STOP $PPID; else echo $0; fi`)
	x.feed(7, 8)
	x.in.Close()
	if code := x.code(); code != 0 || x.stdout.String() != "7\n" {
		t.Errorf("exit code %d, output %q, %s", code, x.stdout.String(), x.stderr)
	}
	gone(t, numbers(t, filepath.Join(c.dir, "pid"), 1)[0])
}

// What can't run says why, and exits as GNU xargs does.
func TestXargsRefusesWhatCannotRun(t *testing.T) {
	c := startCluster(t, 1, 1, nil)
	for _, test := range []struct {
		args string
		code int
		said string
	}{
		{"no-such-program", 127, "xargs: no-such-program: No such file or directory\n"},
		{"--queue nowhere echo", 1, "nowhere"},
		{"--memory 100000 echo", 1, "a task needs 100000 MB, more than the cluster's largest container of 8192 MB"},
		{"-n1 sh -c", 124, "xargs: sh: exited with status 255; aborting\n"},
		{"-n1 sh -c kill_-9_$PPID;", 123, "4 executors have died while they ran it"},
	} {
		var args []string
		for _, a := range strings.Fields(test.args) {
			args = append(args, strings.ReplaceAll(a, "_", " "))
		}
		x := c.xargs(args...)
		if test.code == 124 {
			io.WriteString(x.in, `"exit 255"`)
		} else {
			io.WriteString(x.in, "a")
		}
		x.in.Close()
		if code := x.code(); code != test.code || !strings.Contains(x.stderr.String(), test.said) {
			t.Errorf("%s: exit code %d, %s", test.args, code, x.stderr)
		}
	}
	// One that has nothing to do asks for nothing.
	x := c.xargs("-r", "echo")
	x.in.Close()
	if code := x.code(); code != 0 || x.stdout.String()+x.stderr.String() != "" {
		t.Errorf("without input: exit code %d, %s%s", code, x.stdout, x.stderr)
	}
}
