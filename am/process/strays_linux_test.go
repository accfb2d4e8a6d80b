package process

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"heddle/internal/await"
)

// daemons are ways to leave something behind; each writes its process id to the file $1.
var daemons = map[string]string{
	"in the background":          `sleep 1000 & echo $! > $1`,
	"in a session of its own":    `setsid sh -c 'echo $$ > '$1'; exec sleep 1000' & while ! test -s $1; do sleep 0.01; done`,
	"as a daemon":                `setsid sh -c 'echo $$ > '$1'; exec sleep 1000 >/dev/null 2>&1 </dev/null' >/dev/null 2>&1 & while ! test -s $1; do sleep 0.01; done`,
	"as a daemon without a name": `setsid env -i PATH="$PATH" sh -c 'echo $$ > '$1'; exec sleep 1000 >/dev/null 2>&1' >/dev/null 2>&1 & while ! test -s $1; do sleep 0.01; done`,
}

// What a command leaves behind ends soon after it, although another command runs on.
func TestNothingIsLeftBehind(t *testing.T) {
	ways := maps.Clone(daemons)
	for name, script := range daemons {
		ways["attached, "+name] = script
	}
	ways["attached, all, without a name"] = `env -i sleep 1000 & echo $! > $1`
	for name, script := range ways {
		t.Run(name, func(t *testing.T) {
			r := runner(t)
			if strings.HasPrefix(name, "attached, all") {
				r.OwnAll()
			}
			pid := filepath.Join(t.TempDir(), "pid")
			var out bytes.Buffer
			if _, err := r.Run(t.Context(), Command{Args: []string{"sh", "-c", script, "sh", pid}, Stdout: &out, Stderr: &out, Attached: strings.HasPrefix(name, "attached")}); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(pid)
			if err != nil || len(text) == 0 || out.Len() > 0 {
				t.Fatalf("%q, %v, %s", text, err, out.String())
			}
			await.Until(t, "end of process "+string(text), func() bool { return !alive(string(text)) })
		})
	}
}

// Close ends what nobody can be said to own, while a command that runs keeps its own.
func TestADaemonOfARunningCommandGoesOn(t *testing.T) {
	r := runner(t)
	dir := t.TempDir()
	pid, stop := filepath.Join(dir, "pid"), filepath.Join(dir, "stop")
	done := make(chan error)
	var out bytes.Buffer
	go func() {
		script := `(` + daemons["as a daemon"] + `); while ! test -e $2; do sleep 0.01; done; kill -0 $(cat $1) && echo it runs`
		_, err := r.Run(t.Context(), Command{Args: []string{"sh", "-c", script, "sh", pid, stop}, Stdout: &out})
		done <- err
	}()
	text := await.Value(t, "the daemon", func() (string, bool) {
		b, err := os.ReadFile(pid)
		return string(b), err == nil && strings.HasSuffix(string(b), "\n")
	})
	await.Until(t, "adoption of the daemon", func() bool { return r.sweep() > 0 })
	if _, err := r.Run(t.Context(), Command{Args: []string{"true"}}); err != nil {
		t.Fatal(err)
	}
	r.sweep()
	if err := os.WriteFile(stop, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || out.String() != "it runs\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	r.Close()
	if alive(text) {
		t.Error("it runs on after Close")
	}
}

// Commands that find no descriptor left wait for the end of others. If none runs, that is an error.
func TestCommandsThatFindNoDescriptor(t *testing.T) {
	r := runner(t)
	var old unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &old); err != nil {
		t.Fatal(err)
	}
	// leave leaves so many descriptors that may be opened.
	leave := func(free int) {
		t.Helper()
		now := old
		for now.Cur = 0; free > 0; now.Cur++ {
			if _, err := unix.FcntlInt(uintptr(now.Cur), unix.F_GETFD, 0); err != nil {
				free--
			}
		}
		if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, &now, nil); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, &old, nil); err != nil {
			t.Error(err)
		}
	}()
	run := func() error {
		var out, errs bytes.Buffer
		_, err := r.Run(t.Context(), Command{Args: []string{"sh", "-c", "echo; sleep 0.01"}, Stdout: &out, Stderr: &errs})
		return err
	}
	if err := run(); err != nil { // which opens what stays open
		t.Fatal(err)
	}
	leave(12)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := run(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	leave(2)
	if err := run(); !errors.Is(err, syscall.EMFILE) || Reason(err) != "Too many open files" {
		t.Errorf("without any: %v", err)
	}
}

// Children that others have started are theirs.
func TestOthersChildrenAreSpared(t *testing.T) {
	r := runner(t)
	other := runner(t)
	ready, proceed := make(chan struct{}), filepath.Join(t.TempDir(), "go")
	done := make(chan Result)
	go func() {
		got, _ := other.Run(t.Context(), Command{
			Args:   []string{"sh", "-c", `echo ready; while ! test -e $0; do sleep 0.01; done`, proceed},
			Stdout: writer(func([]byte) { close(ready) }),
		})
		done <- got
	}()
	<-ready
	r.Close()
	if err := os.WriteFile(proceed, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := <-done; got.Exit != 0 || got.Signal != 0 {
		t.Errorf("%+v", got)
	}
}
