package worker

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"heddle/internal/await"
)

// holding is a command of which is soon asked who holds its pipes. Its folder has a fifo, by which it can wait.
func holding(t *testing.T, line string) *command {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &command{role: "mapper", line: line, dir: dir, log: newStderr(io.Discard), grace: 10 * time.Millisecond}
}

func (c *command) text(ctx context.Context, in string) (string, error) {
	var out strings.Builder
	err := c.run(ctx, func(w io.Writer) error {
		_, err := io.WriteString(w, in)
		return err
	}, func(r io.Reader) error {
		_, err := io.Copy(&out, r)
		return err
	})
	return out.String(), err
}

// A daemon is named at once, not at the task's timeout, and the task fails.
func TestDaemonThatHoldsPipes(t *testing.T) {
	for _, line := range []string{
		"setsid sleep 1234 2>&- &",                                  // its output
		"exec 3<&0; setsid sleep 1234 <&3 >&- 2>&- & exec >&- 3<&-", // its input, which is more than a pipe holds
	} {
		_, err := holding(t, line).text(t.Context(), strings.Repeat("x", 1<<20))
		var held *HeldError
		if !errors.As(err, &held) || len(held.by) != 1 || !strings.Contains(err.Error(), "sleep 1234)") || !strings.Contains(err.Error(), "/dev/null") {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if err := syscall.Kill(held.by[0].pid, syscall.SIGKILL); err != nil {
			t.Errorf("process %d was named: %v", held.by[0].pid, err)
		}
	}
}

// What a command has left to run in the background may still write: its output is the command's. Who it is can be seen.
func TestBackgroundIsWaitedFor(t *testing.T) {
	c := holding(t, "{ cat fifo; } & echo first")
	type result struct {
		out string
		err error
	}
	done := make(chan result, 1)
	go func() {
		out, err := c.text(t.Context(), "")
		done <- result{out, err}
	}()
	held := func() string {
		c.log.mu.Lock()
		defer c.log.mu.Unlock()
		return c.log.held
	}
	await.Until(t, "it is said who holds the output", func() bool { return strings.Contains(held(), "cat fifo)") })
	if err := os.WriteFile(filepath.Join(c.dir, "fifo"), []byte("last\n"), 0); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.out != "first\nlast\n" || r.err != nil || held() != "" {
		t.Errorf("%q, %v, still held: %q", r.out, r.err, held())
	}
}

func TestBackgroundOfAFailedCommandIsNotWaitedFor(t *testing.T) {
	var exit *CommandError
	if _, err := holding(t, "cat fifo & exit 3").text(t.Context(), ""); !errors.As(err, &exit) || !strings.Contains(err.Error(), "exit status 3") {
		t.Error(err)
	}
}

// A task that is abandoned, or has reached its timeout, doesn't wait for a daemon: its worker said nothing any more.
func TestAbandonedCommandLeavesItsDaemon(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	c := holding(t, "setsid sleep 1234 <&- 2>&- & echo $!; cat fifo")
	var pid int
	err := c.run(ctx, func(io.Writer) error { return nil }, func(r io.Reader) error {
		line, err := bufio.NewReader(r).ReadString('\n')
		if err != nil {
			return err
		}
		if pid, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
			return err
		}
		cancel(why)
		_, err = io.Copy(io.Discard, r)
		return err
	})
	if !errors.Is(err, why) {
		t.Error(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the daemon is %d: %v", pid, err)
	}
}

// A daemon gives itself any name: none of it reaches a terminal.
func TestCommandLinesAreTame(t *testing.T) {
	c := holding(t, "setsid sh -c 'cat fifo' \"$(printf 'a\\033[31m\\n\\377')$(seq 100 | tr '\\n' x)\" 2>&- &")
	_, err := c.text(t.Context(), "")
	var held *HeldError
	if !errors.As(err, &held) {
		t.Fatal(err)
	}
	for _, h := range held.by {
		if err := syscall.Kill(-h.group, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Error(err)
		}
	}
	if text := err.Error(); strings.ContainsAny(text, "\x1b\n") || !utf8.ValidString(text) || !strings.Contains(text, "a?[31m??1x2x") || !strings.Contains(text, "…") {
		t.Errorf("%q", text)
	}
}
