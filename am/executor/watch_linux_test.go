package executor

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/internal/await"
)

// watched runs a script under Watch. It writes its process id to the file that pid reads.
func watched(t *testing.T, ctx context.Context, script string) (pid func() int, code <-chan int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pid")
	done := make(chan int, 1)
	go func() {
		got, err := Watch(ctx, []string{"/bin/sh", "-c", "echo $$ >" + file + "; " + script})
		if err != nil {
			t.Error(err)
		}
		done <- got
	}()
	return func() int {
		return await.Value(t, "the process", func() (int, bool) {
			text, _ := os.ReadFile(file)
			n, err := strconv.Atoi(strings.TrimSpace(string(text)))
			return n, err == nil && strings.HasSuffix(string(text), "\n")
		})
	}, done
}

// quickly has a test wait for a tenth of the time.
func quickly(t *testing.T) {
	was := lookEvery
	lookEvery = 5 * time.Millisecond
	t.Cleanup(func() { lookEvery = was })
}

// An executor that a signal has stopped ends, long before its silence would be noticed.
func TestAStoppedExecutorEnds(t *testing.T) {
	quickly(t)
	_, code := watched(t, t.Context(), "kill -STOP $$; exit 3")
	if got := <-code; got != 128+int(syscall.SIGKILL) {
		t.Errorf("exit code %d", got)
	}
}

// One that goes on soon goes on, and its exit code is passed on.
func TestAnExecutorThatGoesOnStays(t *testing.T) {
	for _, test := range []struct {
		script string
		want   int
	}{
		{"(kill -STOP $$; kill -CONT $$) & wait $!; exit 3", 3},
		{"kill -9 $$", 128 + 9},
		{"exit 0", 0},
	} {
		_, code := watched(t, t.Context(), test.script)
		if got := <-code; got != test.want {
			t.Errorf("%s: exit code %d, want %d", test.script, got, test.want)
		}
	}
}

// A container may be suspended by signals, to the executor first. The time in which its watcher stands still, too, doesn't count.
func TestASuspendedExecutorStays(t *testing.T) {
	const question = "HEDDLE_TEST_WATCH"
	if dir := os.Getenv(question); dir != "" {
		quickly(t)
		code, err := Watch(t.Context(), []string{"/bin/sh", "-c", "cd " + dir + "; echo $$ >new; mv new pid; while ! test -e end; do sleep 0.01; done; exit 3"})
		if code != 3 || err != nil {
			t.Errorf("exit code %d, %v", code, err)
		}
		return
	}
	dir := t.TempDir()
	watcher := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	watcher.Env = append(os.Environ(), question+"="+dir)
	var said bytes.Buffer
	watcher.Stdout, watcher.Stderr = &said, &said
	if err := watcher.Start(); err != nil {
		t.Fatal(err)
	}
	pid := await.Value(t, "the process", func() (int, bool) {
		text, err := os.ReadFile(filepath.Join(dir, "pid"))
		n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		return n, err == nil
	})
	signal := func(s syscall.Signal, to int, stopped bool) {
		t.Helper()
		if err := syscall.Kill(to, s); err != nil {
			t.Fatal(err)
		}
		await.Until(t, s.String(), func() bool {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", to))
			return err == nil && strings.Contains(string(stat), ") T ") == stopped
		})
	}
	for range 3 {
		signal(syscall.SIGSTOP, pid, true)
		signal(syscall.SIGSTOP, watcher.Process.Pid, true)
		for began := time.Now(); time.Since(began) < 20*5*time.Millisecond; {
			runtime.Gosched()
		}
		signal(syscall.SIGCONT, pid, false)
		signal(syscall.SIGCONT, watcher.Process.Pid, false)
	}
	if err := os.WriteFile(filepath.Join(dir, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := watcher.Wait(); err != nil {
		t.Errorf("%v: %s", err, &said)
	}
}

// The end of a container ends the executor, too, which may take its time.
func TestTheEndIsPassedOn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	pid, code := watched(t, ctx, "trap 'exit 5' TERM; while :; do sleep 0.01; done")
	began := pid()
	cancel()
	if got := <-code; got != 5 {
		t.Errorf("exit code %d", got)
	}
	if err := syscall.Kill(began, 0); err == nil {
		t.Error("it runs on")
	}
	if _, err := Watch(t.Context(), []string{"/no/such/program"}); err == nil || !strings.Contains(fmt.Sprint(err), "/no/such/program") {
		t.Error(err)
	}
}
