package health

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/await"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

type disks struct {
	mu     sync.Mutex
	bad    string
	checks int
}

func (d *disks) Check() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.checks++
	return false
}

func (d *disks) Healthy() (bool, string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.bad == "", d.bad
}

func (d *disks) set(bad string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bad = bad
}

func script(t *testing.T, text string) Script {
	t.Helper()
	path := filepath.Join(t.TempDir(), "health")
	if err := os.WriteFile(path, []byte("#!/bin/bash\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return Script{Name: "s", Path: path, Interval: 5 * time.Millisecond, Timeout: time.Minute}
}

func TestScripts(t *testing.T) {
	for text, want := range map[string]string{
		"echo fine":                         "",
		"echo 'no ERROR here'; exit 1":      "",
		"echo fine; echo 'ERROR on disk'":   "fine\nERROR on disk",
		"echo ERROR >&2":                    "",
		"kill -9 $$":                        "",
		"echo \"ERROR $1\"":                 "ERROR arg",
		"sleep 600 & echo ERROR; exec 1>&-": "ERROR",
	} {
		s := script(t, text)
		s.Args = []string{"arg"}
		if got := s.run(t.Context()); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	chatty := script(t, "head -c 50000000 /dev/zero | tr '\\0' x; echo; echo 'ERROR at last'; head -c 50000000 /dev/zero")
	if got := chatty.run(t.Context()); !strings.HasPrefix(got, "xxx") || !strings.HasSuffix(got, "beginning with ERROR follows") || len(got) > 2*maxReport {
		t.Errorf("%d bytes of 100 MB: …%q", len(got), got[max(0, len(got)-80):])
	}
	slow := script(t, "sleep 600")
	slow.Timeout = 20 * time.Millisecond
	if got := slow.run(t.Context()); got != "Node health script timed out" {
		t.Errorf("slow: %q", got)
	}
	gone := script(t, "true")
	os.Remove(gone.Path)
	if got := gone.run(t.Context()); !strings.Contains(got, "no such file") {
		t.Errorf("gone: %q", got)
	}
}

func TestChanges(t *testing.T) {
	flag := filepath.Join(t.TempDir(), "flag")
	d := &disks{}
	changes := make(chan struct{}, 100)
	c, err := New(Options{
		Disks: d, DisksInterval: 5 * time.Millisecond, Scripts: []Script{script(t, "[ -e "+flag+" ] && echo ERROR flag")},
		Changed: func() { changes <- struct{}{} }, Log: quiet(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Status(); !s.Healthy || s.Report != "" || s.At.IsZero() {
		t.Errorf("at first: %+v", s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	defer running.Wait()
	defer cancel()
	next := func(healthy bool, report string) {
		t.Helper()
		select {
		case <-changes:
		case <-time.After(time.Minute):
			t.Fatal("no change was told")
		}
		await.Until(t, "report "+report, func() bool { return c.Status().Report == report })
		if s := c.Status(); s.Healthy != healthy {
			t.Errorf("%+v", s)
		}
	}
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	next(false, "ERROR flag")
	d.set("disk is full") // still unhealthy: nothing to tell
	if s := c.Status(); s.Report != "ERROR flag;disk is full" {
		t.Errorf("%+v", s)
	}
	os.Remove(flag)
	d.set("")
	next(true, "")
}

func TestScriptsThatCannotRun(t *testing.T) {
	plain := script(t, "true")
	if err := os.Chmod(plain.Path, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, s := range []Script{plain, {Name: "s", Path: "/nosuch"}, {Name: "s", Path: "/tmp"}} {
		if _, err := New(Options{Disks: &disks{}, Scripts: []Script{s}, Log: quiet()}); err == nil || !strings.Contains(err.Error(), "yarn.nodemanager.health-checker.s.path") {
			t.Errorf("%s: %v", s.Path, err)
		}
	}
}

func quiet() *logrus.Entry {
	l := logrus.New()
	l.Out = io.Discard
	return logrus.NewEntry(l)
}
