package xargs

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestResults(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	r := func(_ context.Context, t *Task, stdout, stderr io.Writer) Outcome {
		io.WriteString(stdout, "out\xff")
		io.WriteString(stderr, "err")
		return []Outcome{{}, {Exit: 4}, {TimedOut: true}, {Signal: 9}}[t.Number]
	}
	if got := play(t, "a 'b c' d e", r, "-n1", "--results", dir, "CMD"); got.code == 0 || got.out != strings.Repeat("out\xff", 4) {
		t.Errorf("%+v", got)
	}
	for file, want := range map[string]string{
		"1/stdout": "out\xff", "1/stderr": "err", "1/exit": "0\n", "2/command": "CMD\x00b c\x00", "2/exit": "4\n", "3/exit": "timeout\n", "4/exit": "137\n",
	} {
		if b, err := os.ReadFile(filepath.Join(dir, file)); string(b) != want {
			t.Errorf("%s: %q, %v; want %q", file, b, err, want)
		}
	}
	if got := play(t, "a", r, "--results", filepath.Join(dir, "1/stdout")); got.code != 1 || !strings.Contains(got.err, "1/stdout") {
		t.Errorf("a file as folder: %+v", got)
	}
}

// The files of a command that is run again are those of its last try.
func TestResultsOfRetries(t *testing.T) {
	dir := t.TempDir()
	tries := 0
	r := func(_ context.Context, _ *Task, stdout, _ io.Writer) Outcome {
		tries++
		fmt.Fprintln(stdout, "try", tries)
		return Outcome{Exit: 2 - tries}
	}
	if got := play(t, "a", r, "-P2", "--results", dir, "--retries=3", "CMD"); got.code != 0 || got.out != "try 2\n" || got.err != "" {
		t.Errorf("%+v", got)
	}
	for file, want := range map[string]string{"1/stdout": "try 2\n", "1/exit": "0\n"} {
		if b, err := os.ReadFile(filepath.Join(dir, file)); string(b) != want {
			t.Errorf("%s: %q, %v; want %q", file, b, err, want)
		}
	}
}
