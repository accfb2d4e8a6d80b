package claims

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/internal/hostile"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

// A process may claim any number of gigabytes of environment and command line. They were read whole.
func TestAProcessThatSaysGigabytesOfItself(t *testing.T) {
	pid := hostile.Endless(t)
	if fi, err := os.Open(fmt.Sprintf("/proc/%d/environ", pid)); err != nil {
		t.Fatal(err)
	} else if n, err := io.CopyN(io.Discard, fi, 64<<20); n < 64<<20 { // the trick works here
		t.Fatalf("its environment has %d bytes, %v", n, err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if v, err := Environ(pid, "MARK"); err != nil || !v.Found || v.First != "first" {
		t.Errorf("%+v, %v", v, err)
	}
	if v, err := Environ(pid, "OTHER"); err != nil || v.Found || v.Blank {
		t.Errorf("%+v, %v", v, err)
	}
	if line, err := CommandLine(pid, 1000); err != nil || len(line) != 1000 {
		t.Errorf("%d bytes, %v", len(line), err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 4<<20 {
		t.Errorf("it took %d bytes of memory", took)
	}
}

func TestEnviron(t *testing.T) {
	big := strings.Repeat("x", 100<<10)
	cmd := exec.Command("sleep", "600")
	cmd.Env = []string{"LARGE=" + big, "MARK=a b", "MARKED=no"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	want := Variable{First: "a b", Last: "a b", Found: true}
	await.Until(t, "its environment", func() bool {
		v, err := Environ(cmd.Process.Pid, "MARK")
		return err == nil && v == want
	})
	if v, err := Environ(cmd.Process.Pid, "LARGE"); err != nil || v.Found {
		t.Errorf("%d bytes, %v", len(v.First), err)
	}
	if line, err := CommandLine(cmd.Process.Pid, 100); err != nil || string(line) != "sleep\x00600\x00" {
		t.Errorf("%q, %v", line, err)
	}
	if uid, err := UID(cmd.Process.Pid); err != nil || uid != os.Getuid() {
		t.Errorf("%d, %v", uid, err)
	}
	if v, err := Environ(1<<30, "MARK"); !errors.Is(err, ErrGone) {
		t.Errorf("%+v, %v", v, err)
	}
}

// A process may block its readers for ever. The first ones give up, and leave a thread each. Those that come later don't
// even begin, until a thread is free again.
func TestProcessesThatBlockTheirReaders(t *testing.T) {
	free := make(chan struct{})
	var begun atomic.Int32
	blocked := func() (int, error) { begun.Add(1); <-free; return 1, nil }
	for range maxSilent + 3 {
		if n, err := ask(os.Getpid(), 10*time.Millisecond, blocked); n != 0 || !errors.Is(err, ErrSilent) {
			t.Errorf("%d, %v", n, err)
		}
	}
	await.Until(t, "as many readers as allowed", func() bool { return begun.Load() == maxSilent })
	close(free)
	await.Until(t, "they may be read again", func() bool {
		n, err := Ask(os.Getpid(), func() (int, error) { return 2, nil })
		return n == 2 && err == nil
	})
	await.Until(t, "nobody counts as silent", func() bool {
		silent.Lock()
		defer silent.Unlock()
		return len(silent.of) == 0
	})
}

// Whatever an environment holds, what is found in it is there.
func FuzzFind(f *testing.F) {
	f.Add([]byte("A=1\x00MARK=2\x00MARK=3\x00"))
	f.Add([]byte("MARK=unfinished"))
	f.Add(append(bytes.Repeat([]byte("y"), 2*window), []byte("\x00MARK=2\x00")...))
	f.Add([]byte("MARK=" + strings.Repeat("z", window) + "\x00"))
	f.Add([]byte{0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := find(bytes.NewReader(b), "MARK")
		if err != nil {
			t.Fatal(err)
		}
		var want Variable
		want.Blank = len(b) == 0
		for entry := range bytes.SplitSeq(bytes.TrimSuffix(b, []byte{0}), []byte{0}) {
			if value, ok := strings.CutPrefix(string(entry), "MARK="); ok && len(entry) < window {
				if want.Last = value; !want.Found {
					want.Found, want.First = true, value
				}
			}
		}
		if v != want {
			t.Errorf("%+v, want %+v", v, want)
		}
	})
}
