package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"heddle/internal/await"
	"heddle/internal/claims"
)

func start(t *testing.T, script string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/bin/bash", "-c", script)
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	})
	return cmd
}

func TestTreeHoldsAllDescendants(t *testing.T) {
	cmd := start(t, "(sleep 60 & sleep 60) & sleep 60; true", "MARK=here")
	var tree []Process
	// One that is about to begin a program has neither memory nor an environment.
	begun := func(p Process) bool {
		mark, err := claims.Environ(p.PID, "MARK")
		return err == nil && mark.First == "here" && p.RSS > 0
	}
	await.Until(t, "five processes", func() bool {
		table, err := Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		tree = table.Tree(cmd.Process.Pid)
		return len(tree) == 5 && !slices.ContainsFunc(tree, func(p Process) bool { return !begun(p) })
	})
	for _, p := range tree {
		if p.Session != cmd.Process.Pid || p.Virtual < p.RSS || p.Start == 0 {
			t.Errorf("implausible row %+v", p)
		}
	}
}

func TestCPUTimeIsCounted(t *testing.T) {
	cmd := start(t, "while :; do :; done")
	await.Until(t, "50 ms of CPU time", func() bool {
		p, err := Read(cmd.Process.Pid)
		return err == nil && p.CPU >= 50*time.Millisecond
	})
}

func TestWaitExitOfAnothersChild(t *testing.T) {
	cmd := start(t, "sleep 60 & echo; wait")
	var child Process
	await.Until(t, "the child", func() bool {
		table, err := Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range table.Tree(cmd.Process.Pid) {
			if p.PID != cmd.Process.Pid {
				child = p
			}
		}
		return child.PID != 0
	})

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := WaitExit(ctx, child.ID); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("waiting for a live process: %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- WaitExit(t.Context(), child.ID) }()
	if err := Signal(child.ID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := WaitExit(t.Context(), child.ID); err != nil {
		t.Fatalf("waiting for a process that is gone: %v", err)
	}
}

func TestAnotherProcessOfTheSamePIDIsNotTouched(t *testing.T) {
	cmd := start(t, "sleep 60")
	p, err := Read(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	earlier := ID{PID: p.PID, Start: p.Start - 1}
	if err := Signal(earlier, syscall.SIGKILL); !errors.Is(err, ErrGone) {
		t.Errorf("signalling an earlier owner of the pid: %v", err)
	}
	if err := WaitExit(t.Context(), earlier); err != nil {
		t.Errorf("waiting for an earlier owner of the pid: %v", err)
	}
	if err := Signal(p.ID, 0); err != nil {
		t.Errorf("the process itself: %v", err)
	}
}

func TestParseStat(t *testing.T) {
	const rest = " S 11 12 13 0 -1 4194304 1 2 3 4 150 50 7 8 20 0 1 0 987654 4096000 25 18446744073709551615 1 1"
	for _, name := range []string{"bash", "a b", "a) (b", ") R 1 2", "x\ny"} {
		p, err := parseStat([]byte("10 (" + name + ")" + rest))
		want := Process{
			ID: ID{PID: 10, Start: 987654}, State: 'S', Parent: 11, Group: 12, Session: 13,
			CPU: 2 * time.Second, User: 1500 * time.Millisecond, Virtual: 4096000, RSS: 25 * int64(os.Getpagesize()),
		}
		if err != nil || p != want {
			t.Errorf("%q: got %+v, %v", name, p, err)
		}
	}
	for _, line := range []string{"", "10", "10 (x", "10 (x) S 1", "x (x)" + rest, "10 (x) SS" + rest[2:]} {
		if p, err := parseStat([]byte(line)); err == nil {
			t.Errorf("%q was read as %+v", line, p)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(own)
	f.Add([]byte("1 ()) S 0 1 1 0 -1 4194560 1 1 1 1 1 1 1 1 20 0 1 0 5 6 7"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := parseStat(b); err != nil && p != (Process{}) {
			t.Errorf("an error came with %+v", p)
		}
	})
}

// Before Linux 5.10 pidfds block, and before 5.3 there are none.
func TestOlderKernels(t *testing.T) {
	defer func(f func(int, int) (int, error)) { pidfdOpen = f }(pidfdOpen)
	newest := pidfdOpen
	for name, open := range map[string]func(pid, flags int) (int, error){
		"5.9": func(pid, flags int) (int, error) {
			if flags != 0 {
				return -1, unix.EINVAL
			}
			return newest(pid, 0)
		},
		"5.2": func(int, int) (int, error) { return -1, unix.ENOSYS },
	} {
		pidfdOpen = open
		t.Run(name, func(t *testing.T) {
			t.Run("end", TestWaitExitOfAnothersChild)
			t.Run("identity", TestAnotherProcessOfTheSamePIDIsNotTouched)
		})
	}
}

// A node that the kernel is to spare doesn't hand that on.
func TestAContainerIsNotSparedForItsNode(t *testing.T) {
	file := filepath.Join(t.TempDir(), "oom_score_adj")
	for was, want := range map[string]string{"-500\n": "0", "-1000\n": "0", "0\n": "0\n", "300\n": "300\n"} {
		if err := os.WriteFile(file, []byte(was), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := notSpared(file); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("a score of %q became %q, %v, want %q", was, got, err, want)
		}
	}
	// and in life, as far as this process may be spared
	own, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		t.Fatal(err)
	}
	defer os.WriteFile("/proc/self/oom_score_adj", own, 0)
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("-500"), 0) // where it may not, its score is what it was
	cmd := start(t, "sleep 60")
	if err := NotSpared(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", cmd.Process.Pid))
	if err != nil || strings.HasPrefix(string(got), "-") {
		t.Errorf("the child's score is %q, %v", got, err)
	}
	if err := NotSpared(1 << 22); err != nil {
		t.Errorf("a process that has ended: %v", err)
	}
}

func TestPeakMemory(t *testing.T) {
	if n, err := PeakMemory(os.Getpid()); err != nil || n < 1<<20 || n%1024 != 0 {
		t.Errorf("%d %v", n, err)
	}
	if n, err := PeakMemory(1 << 30); !errors.Is(err, ErrGone) {
		t.Errorf("%d %v", n, err)
	}
}
