package process

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"heddle/internal/await"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

func runner(t *testing.T) *Runner {
	t.Helper()
	r := New()
	t.Cleanup(r.Close)
	return r
}

func sh(script string, out *bytes.Buffer) Command {
	return Command{Args: []string{"sh", "-c", script}, Stdout: out, Stderr: out}
}

func TestHowCommandsEnd(t *testing.T) {
	r := runner(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"plain": "echo plain $*\n", "locked": "#!/bin/sh\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "locked"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=/nowhere:" + dir + ":/bin:/usr/bin"}
	for _, test := range []struct {
		args []string
		want Result
		out  string
		err  error
	}{
		{[]string{"sh", "-c", "echo out; echo err >&2; read x || echo nothing to read"}, Result{}, "out\nerr\nnothing to read\n", nil},
		{[]string{"sh", "-c", "exit 7"}, Result{Exit: 7}, "", nil},
		{[]string{"sh", "-c", "kill -11 $$"}, Result{Signal: syscall.SIGSEGV}, "", nil},
		{[]string{"plain", "a", "b"}, Result{}, "plain a b\n", nil},
		{[]string{"locked"}, Result{}, "", fs.ErrPermission},
		{[]string{"folder"}, Result{}, "", fs.ErrPermission},
		{[]string{dir + "/locked"}, Result{}, "", fs.ErrPermission},
		{[]string{"missing"}, Result{}, "", fs.ErrNotExist},
		{[]string{dir + "/missing"}, Result{}, "", fs.ErrNotExist},
		{[]string{""}, Result{}, "", fs.ErrNotExist},
		{nil, Result{}, "", fs.ErrNotExist},
	} {
		var out bytes.Buffer
		got, err := r.Run(t.Context(), Command{Args: test.args, Env: env, Stdout: &out, Stderr: &out})
		got.Took = 0
		if got != test.want || out.String() != test.out || !errors.Is(err, test.err) {
			t.Errorf("%q: %+v, %q, %v", test.args, got, out.String(), err)
		}
	}
}

// A program is looked up in the command's own PATH, relative to its own folder.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bin", "where"), []byte("#!/bin/sh\npwd\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	c := Command{Args: []string{"where"}, Env: []string{"PATH=bin"}, Dir: dir, Stdout: &out}
	if _, err := runner(t).Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if got, _ := filepath.EvalSymlinks(strings.TrimSpace(out.String())); got != dir {
		t.Errorf("%q, want %q", out.String(), dir)
	}
}

// A program that is gone is looked for again, and one that wasn't there is found when it is.
func TestAProgramMoves(t *testing.T) {
	r := runner(t)
	first, second := t.TempDir(), t.TempDir()
	c := Command{Args: []string{"moves"}, Env: []string{"PATH=" + first + ":" + second + ":/bin:/usr/bin"}}
	write := func(dir, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "moves"), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	ends := func(exit int, want error) {
		t.Helper()
		if got, err := r.Run(t.Context(), c); got.Exit != exit || !errors.Is(err, want) {
			t.Errorf("%+v, %v; want %d, %v", got, err, exit, want)
		}
	}
	ends(0, fs.ErrNotExist)
	write(first, "exit 1")
	ends(1, nil)
	write(second, "exit 2")
	if err := os.Remove(filepath.Join(first, "moves")); err != nil {
		t.Fatal(err)
	}
	ends(2, nil)
	if err := os.WriteFile(filepath.Join(second, "moves"), []byte("#!/no/such/interpreter\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	ends(0, fs.ErrNotExist)
}

// Of variables of one name the last one counts.
func TestTheLastVariableCounts(t *testing.T) {
	var out bytes.Buffer
	c := sh(`env | grep -c "^A="; echo "$A"`, &out)
	c.Env = []string{"A=1", "PATH=/bin:/usr/bin", "A=2", "odd"}
	if _, err := runner(t).Run(t.Context(), c); err != nil || out.String() != "1\n2\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// Much output comes whole and in its order, from several commands at once, to a writer that is slow at times.
func TestMuchOutput(t *testing.T) {
	r := runner(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			var out slow
			c := sh("seq 50000; echo half; seq 50000 >&2", nil)
			c.Stdout, c.Stderr = &out, &out
			if _, err := r.Run(t.Context(), c); err != nil {
				t.Error(err)
			}
			first, second, ok := strings.Cut(out.String(), "half\n")
			if !ok || first != second || strings.Count(first, "\n") != 50000 {
				t.Errorf("%d and %d bytes, %v", len(first), len(second), ok)
			}
		})
	}
	all.Wait()
}

// A command whose output nobody takes any more gets SIGPIPE.
func TestOutputThatNobodyTakes(t *testing.T) {
	c := sh("yes", nil)
	c.Stdout = broken{}
	if got, err := runner(t).Run(t.Context(), c); got.Signal != syscall.SIGPIPE && got.Exit != 128+int(syscall.SIGPIPE) || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

type slow struct{ bytes.Buffer }

func (w *slow) Write(b []byte) (int, error) {
	runtime.Gosched()
	return w.Buffer.Write(b)
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestTimeout(t *testing.T) {
	r := runner(t)
	for _, script := range []string{"sleep 1000", "trap '' TERM; sleep 1000 & wait; sleep 1000"} {
		var out bytes.Buffer
		c := sh(script, &out)
		c.Timeout = 30 * time.Millisecond
		got, err := r.Run(t.Context(), c)
		if !got.TimedOut || got.Signal == 0 || err != nil {
			t.Errorf("%s: %+v, %v", script, got, err)
		}
	}
}

// When the context ends, the command is told, and may say something.
func TestContextEndsCommands(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("no longer wanted")
	var out bytes.Buffer
	c := sh("trap 'echo told; exit 3' TERM; echo ready; while :; do sleep 0.01; done", &out)
	c.Stderr, c.Stdout = nil, writer(func(b []byte) {
		out.Write(b)
		if strings.Contains(out.String(), "ready") {
			cancel(why)
		}
	})
	got, err := runner(t).Run(ctx, c)
	if !errors.Is(err, why) || got.Exit != 3 || out.String() != "ready\ntold\n" {
		t.Errorf("%+v, %v, %q", got, err, out.String())
	}
	if _, err := runner(t).Run(ctx, c); !errors.Is(err, why) {
		t.Errorf("begun after the end: %v", err)
	}
}

type writer func([]byte)

func (f writer) Write(b []byte) (int, error) {
	f(b)
	return len(b), nil
}

// alive reports whether a process runs. A dead one that nobody has reaped doesn't.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + strings.TrimSpace(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
