package executor

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/internal/needs"
	"heddle/yarn/wire"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

func engine(t *testing.T) *Engine {
	t.Helper()
	e := NewEngine([]string{"PATH=" + os.Getenv("PATH"), "OWN=1"})
	t.Cleanup(e.Close)
	return e
}

// outputs collects what a task writes.
type outputs struct {
	mu sync.Mutex
	of [2]bytes.Buffer
}

func (o *outputs) write(stream int, b []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.of[stream].Write(b)
	return nil
}

func TestCommands(t *testing.T) {
	e := engine(t)
	dir := t.TempDir()
	for _, test := range []struct {
		task     wire.Task
		want     wire.Ended
		out, err string
	}{
		{wire.Task{ID: 7, Args: []string{"sh", "-c", "echo out; echo err >&2; exit 3"}}, wire.Ended{ID: 7, Exit: 3}, "out\n", "err\n"},
		{wire.Task{Args: []string{"sh", "-c", `echo $OWN $MORE; pwd`}, Env: []string{"MORE=2"}, Dir: dir}, wire.Ended{}, "1 2\n" + dir + "\n", ""},
		{wire.Task{Args: []string{"sh", "-c", "kill -9 $$"}, Dir: "/no/such/folder"}, wire.Ended{Signal: 9}, "", ""},
		{wire.Task{Args: []string{"sh", "-c", "exec sleep 1000"}, TimeoutMS: 20}, wire.Ended{Signal: 15, TimedOut: true}, "", ""},
		{wire.Task{Args: []string{"no-such-program"}}, wire.Ended{Why: wire.Missing}, "", ""},
		{wire.Task{Args: []string{"/etc/passwd"}}, wire.Ended{Why: wire.Forbidden}, "", ""},
		{wire.Task{}, wire.Ended{Why: wire.Missing}, "", ""},
		{wire.Task{ID: 9, What: wire.Nothing}, wire.Ended{ID: 9}, "", ""},
	} {
		var o outputs
		got := e.Run(t.Context(), &test.task, o.write)
		if !reflect.DeepEqual(*got, test.want) || o.of[0].String() != test.out || o.of[1].String() != test.err {
			t.Errorf("%q: %+v, %q, %q", test.task.Args, got, o.of[0].String(), o.of[1].String())
		}
	}
	missing := &wire.Task{Args: []string{"true"}, Dir: "/no/such/folder"}
	if got := e.Run(t.Context(), missing, nil); got.Why != wire.Ran {
		t.Errorf("in a folder that isn't here, and needn't be: %+v", got)
	}
	missing.NeedDir = true
	if got := e.Run(t.Context(), missing, nil); got.Why != wire.Faulty || !strings.Contains(got.Fault, "/no/such/folder") {
		t.Errorf("in a folder that must be here: %+v", got)
	}
	if got := e.Run(t.Context(), &wire.Task{What: 77}, nil); got.Why != wire.Faulty || !strings.Contains(got.Fault, "77") {
		t.Errorf("a task of a newer kind: %+v", got)
	}
}

func TestPathsAreJoined(t *testing.T) {
	e := &Engine{env: []string{"PATH=/own", "A=1"}}
	if got := e.environ([]string{"PATH=/given", "B=2"}); !slices.Equal(got, []string{"PATH=/own", "A=1", "PATH=/own:/given", "B=2"}) {
		t.Errorf("%q", got)
	}
}

// An interpreter that answers calls with its process id and the call, in the form that interpreter.go describes.
const echo = `
import os, struct, sys
calls, answers = os.fdopen(3, "rb"), os.fdopen(4, "wb")
def say(b):
    answers.write(struct.pack(">I", len(b)) + b)
    answers.flush()
while True:
    head = calls.read(4)
    if len(head) < 4: break
    call = calls.read(struct.unpack(">I", head)[0]).decode()
    if call == "die":
        os.write(2, b"last words"); os._exit(7)
    if call == "hang":
        import time
        os.write(1, b"hangs"); time.sleep(1000)
    if call == "babble": answers.write(b"\xff\xff\xff\xff"); answers.flush()
    if call == "child": os.system("printf 'of a child'; printf 'and its faults' >&2")
    elif call == "flood": os.write(1, b"x" * 3000000)
    elif call != "late": os.write(1, b"out"); os.write(2, b"err")
    say(("%d %s" % (os.getpid(), call)).encode())
    if call == "late": os.write(1, b"late ")
`

func call(t *testing.T, what string) *wire.Task {
	return &wire.Task{ID: 1, What: wire.Call, Args: []string{needs.Program(t, "python3"), "-c", echo}, Payload: []byte(what)}
}

// Calls come to an interpreter that is there already, until it dies or is killed.
func TestInterpretersAreKept(t *testing.T) {
	e := engine(t)
	pid := func(what string) (int, *wire.Ended) {
		t.Helper()
		var o outputs
		got := e.Run(t.Context(), call(t, what), o.write)
		var pid int
		if _, err := fmt.Sscanf(string(got.Result), "%d "+what, &pid); err != nil || o.of[0].String() != "out" || o.of[1].String() != "err" {
			t.Fatalf("%s: %+v, %q, %v", what, got, o.of[0].String(), err)
		}
		return pid, got
	}
	first, _ := pid("a")
	if second, _ := pid("b"); second != first {
		t.Errorf("process %d, then %d", first, second)
	}
	var o outputs
	if got := e.Run(t.Context(), call(t, "die"), o.write); got.Why != wire.Faulty || !strings.Contains(got.Fault, "exit code 7") || o.of[1].String() != "last words" {
		t.Errorf("one that dies: %+v, %q", got, o.of[1].String())
	}
	if got := e.Run(t.Context(), call(t, "babble"), o.write); got.Why != wire.Faulty || !strings.Contains(got.Fault, "length of 4294967295 bytes") {
		t.Errorf("one that babbles: %+v", got)
	}
	third, _ := pid("c")
	if third == first {
		t.Error("it has died and answers")
	}
	late := call(t, "hang")
	late.TimeoutMS = 300
	if got := e.Run(t.Context(), late, o.write); !got.TimedOut {
		t.Errorf("one that hangs: %+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	got := e.Run(ctx, call(t, "hang"), func(int, []byte) error {
		cancel()
		return nil
	})
	if got.Why != wire.Canceled {
		t.Errorf("one that is canceled: %+v", got)
	}
	if got := e.Run(t.Context(), &wire.Task{What: wire.Call, Args: []string{"no-such-program"}}, o.write); got.Why != wire.Missing {
		t.Errorf("none: %+v", got)
	}
}

func FuzzAnswers(f *testing.F) {
	answer := func(b string) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...) }
	f.Add(answer("result"))
	f.Add(answer(""))
	f.Add([]byte{255, 255, 255, 255, 0})
	f.Add([]byte{0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		result, err := readAnswer(bufio.NewReader(bytes.NewReader(b)))
		if err == nil && !bytes.HasPrefix(b, answer(string(result))) {
			t.Errorf("%q is read as %q", b, result)
		}
	})
}

// What an interpreter and its children write is the output of the call that runs, or of the next one.
func TestOutputOfInterpreters(t *testing.T) {
	e := engine(t)
	for _, test := range []struct{ what, out, err string }{
		{"child", "of a child", "and its faults"},
		{"flood", strings.Repeat("x", 3000000), ""},
		{"child", "of a child", "and its faults"},
	} {
		var o outputs
		if got := e.Run(t.Context(), call(t, test.what), o.write); got.Why != wire.Ran || o.of[0].String() != test.out || o.of[1].String() != test.err {
			t.Errorf("%s: %+v, %.100q, %.100q", test.what, got, o.of[0].String(), o.of[1].String())
		}
	}
	var o outputs
	for _, what := range []string{"late", "a"} {
		if got := e.Run(t.Context(), call(t, what), o.write); got.Why != wire.Ran {
			t.Errorf("%s: %+v", what, got)
		}
	}
	if got := o.of[0].String(); got != "late out" {
		t.Errorf("what came late, and the next call's: %q", got)
	}
	// Nobody takes it any more: the call goes on.
	if got := e.Run(t.Context(), call(t, "flood"), func(int, []byte) error { return io.ErrClosedPipe }); got.Why != wire.Ran {
		t.Errorf("%+v", got)
	}
}

// An interpreter that nobody calls gives its memory back; the next call finds another one.
func TestIdleInterpretersEnd(t *testing.T) {
	e := NewEngine(nil)
	defer e.Close()
	e.warm.keep = time.Millisecond
	pids := map[string]bool{}
	for range 2 {
		got := e.Run(t.Context(), call(t, "x"), func(int, []byte) error { return nil })
		pid, _, _ := strings.Cut(string(got.Result), " ")
		pids[pid] = true
		await.Until(t, "the end of process "+pid, func() bool {
			_, err := os.Stat("/proc/" + pid)
			return err != nil
		})
		e.warm.mu.Lock()
		left := len(e.warm.idle)
		e.warm.mu.Unlock()
		if left != 0 {
			t.Errorf("%d lists of interpreters are left", left)
		}
	}
	if len(pids) != 2 {
		t.Errorf("the processes were %v", pids)
	}
}

// What a task has left behind ends with it, on an executor as well.
func TestDaemonsEndWithTheirTask(t *testing.T) {
	e := engine(t)
	pid := filepath.Join(t.TempDir(), "pid")
	script := `setsid sh -c 'echo $$ > '$0'; exec sleep 1000' >/dev/null 2>&1 & while ! test -s $0; do sleep 0.01; done`
	var o outputs
	if got := e.Run(t.Context(), &wire.Task{Args: []string{"sh", "-c", script, pid}}, o.write); got.Why != wire.Ran || got.Exit != 0 {
		t.Fatalf("%+v", got)
	}
	text, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the end of the daemon", func() bool {
		stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(text)) + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}
