// Package health decides whether a node is fit to run containers, by its disks and by the administrator's scripts.
package health

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/nm/scripts"
)

// Status is a node's health at one time.
type Status struct {
	Healthy bool
	Report  string // what is wrong; may be non-empty for a healthy node
	At      time.Time
}

// Disks reports the state of the node's disks (nm/disks).
type Disks interface {
	Check() (changed bool)
	Healthy() (ok bool, report string)
}

// Script is a program that prints a line beginning with ERROR when the node is unhealthy
// (yarn.nodemanager.health-checker.scripts). Its other output and its exit code don't count: a defect of the script
// must not take all nodes down at once.
type Script struct {
	Name     string
	Path     string
	Args     []string
	Interval time.Duration
	Timeout  time.Duration
}

// Options configure a Checker.
type Options struct {
	Disks         Disks
	DisksInterval time.Duration
	Scripts       []Script
	Changed       func() // called when the node has become healthy or unhealthy
	Log           *logrus.Entry
}

// Checker watches a node's health. It is safe for concurrent use.
type Checker struct {
	o Options

	noting  sync.Mutex // held from a check until its result is recorded, so that results stay in order
	mu      sync.Mutex
	checked time.Time
	scripts map[string]string // output of unhealthy scripts by name; healthy ones are absent
	was     bool

	checking chan struct{} // has room for the one who checks the disks
	begun    time.Time     // when the last check began; belongs to that one
	checks   atomic.Int64  // that have begun
	ill      chan struct{}
}

// New returns a checker. It fails for scripts that can't be run.
func New(o Options) (*Checker, error) {
	for _, s := range o.Scripts {
		info, err := os.Stat(s.Path)
		if err != nil {
			return nil, fmt.Errorf("health script %q (yarn.nodemanager.health-checker.%[1]s.path): %w", s.Name, err)
		}
		if info.IsDir() || info.Mode().Perm()&0o111 == 0 {
			return nil, fmt.Errorf("health script %q (yarn.nodemanager.health-checker.%[1]s.path): %s can't be executed",
				s.Name, s.Path)
		}
	}
	return &Checker{
		o: o, checked: time.Now(), scripts: make(map[string]string), was: true,
		checking: make(chan struct{}, 1), ill: make(chan struct{}, 1),
	}, nil
}

// Run watches until ctx ends. It returns when no script is running.
func (c *Checker) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for _, s := range c.o.Scripts {
		running.Go(func() { every(ctx, s.Interval, func() { c.runScript(ctx, s) }) })
	}
	c.watchDisks(ctx)
}

func every(ctx context.Context, interval time.Duration, f func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		f()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (c *Checker) runScript(ctx context.Context, s Script) {
	said := s.run(ctx)
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	if said == "" {
		delete(c.scripts, s.Name)
	} else {
		c.scripts[s.Name] = said
	}
	c.mu.Unlock()
	c.note()
}

// run runs the script, and returns what is wrong, or "".
func (s Script) run(ctx context.Context) string {
	var out report
	err := scripts.Run(ctx, s.Timeout, &out, s.Path, s.Args...)
	if errors.Is(err, context.DeadlineExceeded) {
		return "Node health script timed out"
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return err.Error()
	}
	if out.ended(); !out.bad {
		return ""
	}
	return strings.TrimSpace(string(out.kept))
}

// maxReport bounds how much of a script's output is kept, in bytes: every heartbeat sends it to the ResourceManager.
const maxReport = 8 << 10

// report keeps the beginning of a script's output, and whether a line begins with ERROR. Endless output takes no memory.
type report struct {
	kept []byte
	line []byte // beginning of the present line, as much as matters
	bad  bool
}

const mark = "ERROR"

func (s *report) Write(p []byte) (int, error) {
	s.kept = append(s.kept, p[:min(len(p), max(0, maxReport-len(s.kept)))]...)
	for rest := p; len(rest) > 0; {
		line, after, ends := bytes.Cut(rest, []byte("\n"))
		s.line = append(s.line, line[:min(len(line), len(mark)-len(s.line))]...)
		if ends {
			s.ended()
		}
		rest = after
	}
	return len(p), nil
}

// ended checks a complete line.
func (s *report) ended() {
	if string(s.line) == mark && !s.bad {
		s.bad = true
		if !bytes.Contains(s.kept, s.line) {
			s.kept = append(s.kept, "\n[…] a line beginning with "+mark+" follows"...)
		}
	}
	s.line = s.line[:0]
}

// note logs a change of the node's health, and reports it to Options.Changed.
func (c *Checker) note() {
	c.noting.Lock()
	defer c.noting.Unlock()
	c.mu.Lock()
	c.checked = time.Now()
	c.mu.Unlock()
	now := c.Status()
	c.mu.Lock()
	changed := c.was != now.Healthy
	c.was = now.Healthy
	c.mu.Unlock()
	if !changed {
		return
	}
	if now.Healthy {
		c.o.Log.Info("the node is healthy again")
	} else {
		c.o.Log.Warnf("the node is unhealthy: %s", now.Report)
	}
	if c.o.Changed != nil {
		c.o.Changed()
	}
}

// Status returns the node's health at the last check.
func (c *Checker) Status() Status {
	healthy, report := c.o.Disks.Healthy()
	c.mu.Lock()
	defer c.mu.Unlock()
	reports := make([]string, 0, 1+len(c.scripts))
	for _, s := range c.o.Scripts {
		if said, bad := c.scripts[s.Name]; bad {
			healthy = false
			reports = append(reports, said)
		}
	}
	if report != "" {
		reports = append(reports, report)
	}
	return Status{Healthy: healthy, Report: strings.Join(reports, ";"), At: c.checked}
}
