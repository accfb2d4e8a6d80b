package jobs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/needs"
)

// What commands on a cluster get, print and return is what they do below GNU xargs; and what it has no case of ends with a reason.
func TestXargsOnAClusterAsGNUXargs(t *testing.T) {
	hadooplab.SkipUnlessFull(t) // it takes a minute
	c := startCluster(t, 1, 1, map[string]string{"heddle.probes.memory-mb": "2048", "heddle.probes.vcores": "4"})
	locked := filepath.Join(c.dir, "locked")
	if err := os.WriteFile(locked, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"--no-bar", "--probes"} {
		t.Run(mode, func(t *testing.T) {
			for _, test := range []struct {
				input string
				args  []string
			}{
				{"\xff\xfe \x80\n", []string{"-n1", "sh", "-c", `printf %s "$0" | od -An -tx1`}},
				{"a b\nc\x00d\x00\x00", []string{"-0", "-n1", "sh", "-c", `printf '<%s>' "$0"`}},
				{"a\x00b c", []string{"-n1", "echo"}},
				{strings.Repeat("a", 140000), []string{"-s", "1000000", "echo"}},
				{strings.Repeat("a", 131071), []string{"-s", "1000000", "echo"}},
				{strings.Repeat("123456789 ", 100000), []string{"-s", "1500000", "echo"}},
				{"", []string{"echo", "once"}},
				{"", []string{"-r", "echo"}},
				{"a b", []string{"-n1", "cat", "-"}}, // reads nothing
				{"a b", []string{"-t", "-n1", "sh", "-c", "exit 3"}},
				{"a b", []string{"-n1", "sh", "-c", "exit 255"}},
				{"a b", []string{"-n1", "sh", "-c", "kill $$"}},
				{"a b", []string{"-n1", "no-such-program"}},
				{"a b", []string{"-n1", locked}},
				{"a b 'c", []string{"-t", "-n1", "true"}},
			} {
				gnu := exec.Command(needs.Program(t, "xargs"), test.args...)
				gnu.Stdin, gnu.Env, gnu.Dir = strings.NewReader(test.input), append(os.Environ(), "LC_ALL=C.UTF-8"), c.dir
				var out, errs bytes.Buffer
				gnu.Stdout, gnu.Stderr = &out, &errs
				var exit *exec.ExitError
				if err := gnu.Run(); err != nil && !errors.As(err, &exit) {
					t.Fatal(err)
				}
				x := c.xargs(append([]string{mode}, test.args...)...)
				_, _ = io.WriteString(x.in, test.input) // it may have ended
				x.in.Close()
				code, want := x.code(), gnu.ProcessState.ExitCode()
				said := strings.ReplaceAll(errs.String(), gnu.Path+": ", "xargs: ")
				if code != want || x.stdout.String() != out.String() || x.stderr.String() != said {
					t.Errorf("%.30q | xargs %.60q: exit code %d, %.200q, %.300q\nGNU's: %d, %.200q, %.300q", test.input, test.args, code, x.stdout, x.stderr, want, &out, said)
				}
			}
			t.Run("a full disk for results", func(t *testing.T) {
				small := filepath.Join(c.dir, "small")
				hadooplab.SmallDisk(t, small, 1)
				x := c.xargs(mode, "--results", filepath.Join(small, "results"), "-P4", "-n1", "sh", "-c", "head -c 500000 /dev/zero")
				fmt.Fprint(x.in, strings.Repeat("x\n", 50)) // it may end before it has read that
				x.in.Close()
				if code := x.code(); code != 1 || !strings.Contains(x.stderr.String(), "no space left on device") {
					t.Errorf("exit code %d, %s", code, x.stderr)
				}
			})
			t.Run("a full disk for the output", func(t *testing.T) {
				full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer full.Close()
				x := c.startXargs("", full, mode, "-P4", "-n1", "echo")
				fmt.Fprint(x.in, strings.Repeat("x\n", 50)) // it may end before it has read that
				x.in.Close()
				if code := x.code(); code != 1 || !strings.Contains(x.stderr.String(), "no space left on device") {
					t.Errorf("exit code %d, %s", code, x.stderr)
				}
			})
			t.Run("two clients, and executors that are lost", func(t *testing.T) {
				once := filepath.Join(c.dir, "once"+mode)
				script := `if [ "$0" = 7 ] && mkdir ` + once + `-$1 2>/dev/null; then echo lost; kill -9 $PPID; sleep 100; fi; echo "$0"`
				var want strings.Builder
				for i := range 100 {
					fmt.Fprintln(&want, i)
				}
				var both []*xargs
				for i := range 2 {
					both = append(both, c.xargs(mode, "-k", "-P8", "-I{}", "sh", "-c", script, "{}", fmt.Sprint(i)))
				}
				for _, x := range both {
					x.feed(0, 100)
					x.in.Close()
				}
				for _, x := range both {
					if code := x.code(); code != 0 || x.stdout.String() != want.String() {
						t.Errorf("exit code %d, %q, %s", code, x.stdout, x.stderr)
					}
				}
				if lost, err := filepath.Glob(once + "-*"); err != nil || len(lost) != 2 {
					t.Errorf("%d executors were lost, %v", len(lost), err)
				}
			})
			t.Run("a hog", func(t *testing.T) {
				x := c.xargs(mode, "-n1", "sh", "-c", "case $0 in a) head -c 4000000000 /dev/zero | tail -n1 | wc -c | grep -q 4000000000;; *) echo $0;; esac")
				_, _ = io.WriteString(x.in, "a b")
				x.in.Close()
				if code := x.code(); code != 123 || x.stdout.String() != "b\n" {
					t.Errorf("exit code %d, %q, %s", code, x.stdout, x.stderr)
				}
			})
			t.Run("nobody reads the output", func(t *testing.T) {
				r, w, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				x := c.startXargs("", w, mode, "-P4", "-n1", "sh", "-c", "echo $0; [ $0 = 0 ] || exec sleep 1000")
				w.Close()
				x.feed(0, 4)
				if _, err := io.ReadFull(r, make([]byte, 2)); err != nil {
					t.Error(err)
				}
				r.Close()
				for err = nil; err == nil && len(x.done) == 0; {
					_, err = fmt.Fprintln(x.in, 0)
				}
				if code := x.code(); code != 141 {
					t.Errorf("exit code %d, %s", code, x.stderr)
				}
			})
		})
	}
}
