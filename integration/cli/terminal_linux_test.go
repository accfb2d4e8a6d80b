package cli

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"heddle/internal/await"
	"heddle/internal/needs"
	"heddle/internal/output"
)

// terminal opens a terminal: what somebody types and sees, and what programs have.
func terminal(t *testing.T) (person, programs *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { person.Close() })
	fd := int(person.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	programs, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { programs.Close() })
	return person, programs
}

// processIn waits for a process id in a file.
func processIn(t *testing.T, file string) int {
	t.Helper()
	return await.Value(t, file, func() (int, bool) {
		b, err := os.ReadFile(file)
		pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
		return pid, err == nil && strings.HasSuffix(string(b), "\n")
	})
}

func ended(t *testing.T, pid int) {
	t.Helper()
	await.Until(t, "the end of process "+strconv.Itoa(pid), func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
}

// startOn starts a script on a terminal. $0 is heddle.
func startOn(t *testing.T, programs *os.File, dir, script string) *exec.Cmd {
	t.Helper()
	c := exec.Command("sh", "-c", script, heddle)
	c.Dir = dir
	c.Stdin, c.Stdout, c.Stderr = programs, programs, programs
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// A shell's loop goes on after a Ctrl-C unless its command dies of that.
func TestCommandsDieOfCtrlC(t *testing.T) {
	needs.Signals(t, syscall.SIGINT)
	person, programs := terminal(t)
	go func() { _, _ = io.Copy(io.Discard, person) }() // until it is closed
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := startOn(t, programs, t.TempDir(), "exec $0 app -list -D yarn.resourcemanager.address="+l.Addr().String())
	silent, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if _, err := person.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err == nil || err.Error() != "signal: interrupt" {
		t.Error(err)
	}
}

// Commands of heddle xargs may use the terminal, as those of GNU xargs do, and its Ctrl-C and Ctrl-\ end what they have started.
func TestXargsOnATerminal(t *testing.T) {
	needs.Signals(t, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)
	person, programs := terminal(t)
	seen := &output.Buffer{}
	go func() { _, _ = io.Copy(seen, person) }() // until it is closed
	dir := t.TempDir()
	start := func(script string) *exec.Cmd { return startOn(t, programs, dir, script) }
	if _, err := person.WriteString("one\ntwo\n"); err != nil {
		t.Fatal(err)
	}
	c := start(`printf 'a\nb\n' | $0 xargs --local -n1 sh -c 'read x </dev/tty; stty echo </dev/tty; echo $0 reads $x'`)
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "what the commands read", func() bool {
		return strings.Contains(seen.String(), "a reads one\r\n") && strings.Contains(seen.String(), "b reads two\r\n")
	})
	for name, key := range map[string]string{"interrupted": "\x03", "quit": "\x1c"} {
		c := start(`exec $0 xargs --local sh -c 'sleep 1000 & echo $! >` + name + `; wait' </dev/null`)
		pid := processIn(t, filepath.Join(dir, name))
		if _, err := person.WriteString(key); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"interrupted": "signal: interrupt", "quit": "exit status 131"}[name]
		if err := c.Wait(); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
		ended(t, pid)
	}
	if text := seen.String(); strings.Contains(text, "terminated by signal") || strings.Contains(text, "goroutine") {
		t.Errorf("the terminal shows %s", text)
	}
}

// The end of a terminal, or of a connection, ends commands with what they have started. What was started to outlive it does, as in the background of a script.
func TestSignalsEndXargsUnlessTheyAreIgnored(t *testing.T) {
	needs.Signals(t, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	for _, test := range []struct {
		signal syscall.Signal
		before string
		code   int
	}{
		{syscall.SIGHUP, "", 129}, {syscall.SIGHUP, "trap '' HUP; ", 0}, {syscall.SIGINT, "", 130}, {syscall.SIGINT, "trap '' INT; ", 0}, {syscall.SIGTERM, "", 143},
	} {
		dir := t.TempDir()
		c := exec.Command("sh", "-c", test.before+`exec $0 xargs --local sh -c '(while ! test -e go; do sleep 0.02; done; echo went on) & echo $! >pid; wait' </dev/null`, heddle)
		var out bytes.Buffer
		c.Dir, c.Stdout, c.Stderr = dir, &out, &out
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		pid := processIn(t, filepath.Join(dir, "pid"))
		if err := c.Process.Signal(test.signal); err != nil {
			t.Fatal(err)
		}
		want := ""
		if test.before != "" {
			want = "went on\n"
			if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var exit *exec.ExitError
		if err := c.Wait(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if got := c.ProcessState.ExitCode(); got != test.code || out.String() != want {
			t.Errorf("%s%v: exit code %d, %s", test.before, test.signal, got, &out)
		}
		ended(t, pid)
	}
}
