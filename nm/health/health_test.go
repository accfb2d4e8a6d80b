package health

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
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

// Somebody who can't write has the disks checked at once, not after YARN's two minutes; many of them together once, and one after the other not more than once
// a second. Disks that were found ill are checked again soon.
func TestDoubtsAreCheckedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disks{}
		told := 0
		c, err := New(Options{Disks: d, DisksInterval: 2 * time.Minute, Changed: func() { told++ }, Log: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { c.Run(ctx) })
		defer running.Wait()
		defer cancel()
		synctest.Wait()
		checks := func(want int, when string) {
			t.Helper()
			synctest.Wait()
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.checks != want {
				t.Errorf("%d checks %s, not %d", d.checks, when, want)
			}
			d.checks = 0
		}
		checks(1, "at the start")

		d.set("full")
		began := time.Now()
		var doubting sync.WaitGroup
		for range 50 {
			doubting.Go(func() { c.Doubt(ctx) })
		}
		doubting.Wait()
		if took := time.Since(began); took > 2*doubtPause || c.Status().Healthy || told != 1 {
			t.Errorf("after %v: %+v, told %d times", took, c.Status(), told)
		}
		synctest.Wait()
		d.mu.Lock()
		if d.checks < 1 || d.checks > 5 { // those that came during one have another, and ill disks are checked again
			t.Errorf("%d checks for 50 doubts at a time", d.checks)
		}
		d.mu.Unlock()

		d.set("")
		time.Sleep(10 * doubtPause)
		if !c.Status().Healthy || told != 2 {
			t.Errorf("with room again: %+v, told %d times", c.Status(), told)
		}
		began = time.Now()
		for range 5 {
			c.Doubt(ctx)
		}
		if took := time.Since(began); took != 4*doubtPause || told != 2 {
			t.Errorf("five doubts after each other took %v, told %d times", took, told)
		}
	})
}

// Disks that fill as soon as the node is back are checked less and less often; once they were well for an interval, soon again.
func TestThePaceOfChecks(t *testing.T) {
	p := pace{interval: 5 * time.Second}
	for i, step := range []struct {
		ok   bool
		want time.Duration
	}{
		{true, 5 * time.Second},
		{false, time.Second},
		{false, 2 * time.Second},
		{true, 5 * time.Second},
		{false, 4 * time.Second},
		{false, 5 * time.Second},
		{true, 5 * time.Second},
		{true, 5 * time.Second},
		{false, time.Second},
	} {
		if got := p.next(step.ok); got != step.want {
			t.Errorf("step %d: %v, want %v", i, got, step.want)
		}
	}
}
