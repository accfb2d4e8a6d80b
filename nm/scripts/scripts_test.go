package scripts

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// What a program leaves in the background ends with it, whether it ends by itself or its time is over.
func TestNothingOfAProgramSurvivesIt(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for end, want := range map[string]error{"": nil, "; wait": context.DeadlineExceeded} {
		held, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		timeout := time.Minute
		if want != nil {
			timeout = time.Second
		}
		if err := Run(t.Context(), timeout, io.Discard, "/bin/sh", "-c", `exec 3>"$0"; sleep 1000 >/dev/null & echo held >&3`+end, pipe); !errors.Is(err, want) {
			t.Errorf("with %q at its end: %v; want %v", end, err, want)
		}
		if text, err := io.ReadAll(held); err != nil || string(text) != "held\n" { // it ends when nobody holds the pipe any more
			t.Errorf("%q, %v", text, err)
		}
		held.Close()
	}
}
