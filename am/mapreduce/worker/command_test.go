package worker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func runCommand(ctx context.Context, line, in string) (out string, log *stderr, passed string, err error) {
	var buf, errs bytes.Buffer
	log = newStderr(&errs)
	c := &command{role: "mapper", line: line, env: []string{"GREETING=hello"}, log: log}
	err = c.run(ctx, func(w io.Writer) error {
		_, err := io.WriteString(w, in)
		return err
	}, func(r io.Reader) error {
		_, err := io.Copy(&buf, r)
		return err
	})
	return buf.String(), log, errs.String(), err
}

func TestCommandIsAPipe(t *testing.T) {
	big := strings.Repeat("0123456789abcdef\n", 1<<16)
	for line, want := range map[string]string{
		"cat": big, "head -n 1": "0123456789abcdef\n", "true": "", "echo $GREETING; cat >/dev/null": "hello\n",
		"tr a-f A-F | head -n 1": "0123456789ABCDEF\n", "exec 0<&-; echo x": "x\n", "exec 1>&-; cat >/dev/null": "",
	} {
		if got, _, _, err := runCommand(t.Context(), line, big); err != nil || got != want {
			t.Errorf("%s: %d bytes, %v", line, len(got), err)
		}
	}
}

func TestCommandFailures(t *testing.T) {
	for line, want := range map[string][]string{
		"exit 3":                     {"mapper", `"exit 3"`, "exit status 3"},
		"cat >/dev/null; kill -9 $$": {"signal: killed"},
		"/nonexistent/x":             {"exit status 127", "no such command", "-files"},
		"/etc/passwd":                {"exit status 126", "can't be executed"},
	} {
		_, _, _, err := runCommand(t.Context(), line, "x\n")
		var c *CommandError
		if !errors.As(err, &c) {
			t.Errorf("%s: %v", line, err)
			continue
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v, without %q", line, err, w)
			}
		}
	}
}

func TestInputErrorKillsTheCommand(t *testing.T) {
	broken := errors.New("broken")
	c := &command{role: "mapper", line: "cat; echo end", log: newStderr(io.Discard)}
	var out bytes.Buffer
	err := c.run(t.Context(), func(io.Writer) error { return broken }, func(r io.Reader) error {
		_, err := io.Copy(&out, r)
		return err
	})
	if !errors.Is(err, broken) || out.Len() > 0 {
		t.Errorf("%v, output %q", err, &out)
	}
	err = c.run(t.Context(), func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err }, func(io.Reader) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("an error of the reader became %v", err)
	}
}

// A connection to HDFS that breaks gives EPIPE as well as a mapper that has read enough: half of a file was lost.
func TestBrokenPipeOfTheInputIsNotItsEnd(t *testing.T) {
	for _, broken := range []error{syscall.EPIPE, os.ErrClosed} {
		c := &command{role: "mapper", line: "cat", log: newStderr(io.Discard)}
		err := c.run(t.Context(), func(w io.Writer) error {
			if _, err := io.WriteString(w, "half\n"); err != nil {
				return err
			}
			return &fs.PathError{Op: "read", Path: "hdfs://nn/file", Err: broken}
		}, func(r io.Reader) error {
			_, err := io.Copy(io.Discard, r)
			return err
		})
		if !errors.Is(err, broken) {
			t.Errorf("an input that breaks with %v: %v", broken, err)
		}
	}
}

func TestCommandIsKilledWithWhatItStarted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	began := time.Now()
	c := &command{role: "mapper", line: "echo begun; sleep 1000 & sleep 1000", log: newStderr(io.Discard)}
	err := c.run(ctx, func(io.Writer) error { return nil }, func(r io.Reader) error {
		b := make([]byte, 6)
		if _, err := io.ReadFull(r, b); err != nil {
			return err
		}
		cancel(why)
		_, err := io.Copy(io.Discard, r)
		return err
	})
	if !errors.Is(err, why) || time.Since(began) > time.Minute {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

func TestStandardError(t *testing.T) {
	_, log, passed, err := runCommand(t.Context(), `cat >/dev/null; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $i >&2; done
		echo reporter:counter:g,n,5 >&2; echo reporter:counter:g,n,-2 >&2; echo reporter:counter:g,n >&2; echo reporter:counter:g,n,x >&2
		echo reporter:status:half way >&2; printf end >&2`, "")
	if err != nil {
		t.Fatal(err)
	}
	if n := log.counters.Get("g", "n"); n != 3 || log.status != "half way" {
		t.Errorf("counter %d, status %q", n, log.status)
	}
	tail := log.last()
	if len(tail) != tailLines || tail[0] != "line 6" || tail[len(tail)-1] != "end" {
		t.Errorf("last lines %q", tail)
	}
	if !strings.Contains(passed, "line 1\n") || strings.Contains(passed, "g,n,5") || !strings.HasSuffix(passed, "end\n") {
		t.Errorf("passed on: %q", passed)
	}
}

// writes counts what it is written, and takes it or not.
type writes struct {
	n   int
	err error
}

func (w *writes) Write(b []byte) (int, error) {
	w.n++
	if w.err != nil {
		return 0, w.err
	}
	return len(b), nil
}

// A command may write millions of lines: those that come together are passed on together. What nobody takes is not kept.
func TestLinesArePassedOnTogether(t *testing.T) {
	for _, w := range []*writes{{}, {err: errors.New("full")}} {
		s := newStderr(w)
		for range 3 {
			if n, err := s.Write(bytes.Repeat([]byte("line\n"), 1000)); n != 5000 || err != nil {
				t.Errorf("%d bytes, %v", n, err)
			}
		}
		if s.flush(); w.n != 3 || s.passed.Len() > 0 {
			t.Errorf("3000 lines in 3 pieces are %d writes; %d bytes are kept", w.n, s.passed.Len())
		}
	}
}

func FuzzStderr(f *testing.F) {
	f.Add([]byte("reporter:counter:a,b,1\nreporter:status:x\n"), 3)
	f.Add([]byte("x\n\n\xff"), 1)
	f.Fuzz(func(t *testing.T, b []byte, size int) {
		var whole, parts bytes.Buffer
		s := newStderr(&whole)
		s.Write(b)
		s.flush()
		p := newStderr(&parts)
		for size = max(1, size%17); len(b) > 0; b = b[min(size, len(b)):] {
			p.Write(b[:min(size, len(b))])
		}
		p.flush()
		if !bytes.Equal(whole.Bytes(), parts.Bytes()) || s.status != p.status || len(s.last()) != len(p.last()) {
			t.Fatalf("%q, in parts %q", &whole, &parts)
		}
	})
}
