package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// tests is the test binary of a package, with all mutants in it.
type tests struct {
	*listed
	binary  string
	flags   []string
	all     []*test
	reached map[int32][]*test
}

type test struct {
	name string
	took time.Duration // processor time
}

// suite builds test binaries and runs them.
type suite struct {
	folder string // folder for generated files
	tags   string
	skip   *regexp.Regexp // tests to leave out; nil = none
	slack  int            // seconds beyond twice the time of the tests
	binary []*tests
}

// build builds the test binaries of packages. Sources switch between mutants numbered below n.
func (s *suite) build(packages []*listed, sources []*source, edits map[*source]map[string][]edit, n int) error {
	for _, trace := range []bool{true, false} {
		overlay, err := s.overlay(sources, edits, trace, n)
		if err != nil {
			return err
		}
		for i, p := range packages {
			binary := filepath.Join(s.folder, fmt.Sprintf("tests%d-%t", i, trace))
			cmd := exec.Command("go", "test", "-c", "-vet=off", "-tags="+s.tags, "-overlay="+overlay, "-o", binary, p.ImportPath)
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("build tests of %s: %w\n%s", p.ImportPath, err, out)
			}
			if trace {
				t := &tests{listed: p, binary: binary, reached: map[int32][]*test{}}
				if err := s.trace(t); err != nil {
					return fmt.Errorf("tests of %s: %w", p.ImportPath, err)
				}
				s.binary = append(s.binary, t)
			}
			s.binary[i].binary = binary
		}
	}
	for _, t := range s.binary {
		if err := s.sound(t); err != nil {
			return err
		}
	}
	return nil
}

// sound verifies that tests pass without a mutant when they run as they do with one.
func (s *suite) sound(t *tests) error {
	if len(t.all) == 0 {
		return nil
	}
	none := &mutant{}
	if result, err := s.tryOn(t, t.all, none); err != nil {
		return err
	} else if result != survived {
		return fmt.Errorf("tests of %s fail without any mutant:\n%s", t.ImportPath, none.output)
	}
	return nil
}

func (s *suite) overlay(sources []*source, edits map[*source]map[string][]edit, trace bool, n int) (string, error) {
	replace := map[string]string{}
	put := func(path string, text []byte) error {
		to := filepath.Join(s.folder, fmt.Sprintf("overlay%d-%t.go", len(replace), trace))
		replace[path] = to
		return os.WriteFile(to, text, 0o600)
	}
	for _, src := range sources {
		for name, e := range edits[src] {
			if err := put(filepath.Join(src.Dir, name), apply(src.text[name], e)); err != nil {
				return "", err
			}
		}
		if err := put(filepath.Join(src.Dir, "mutate_switch.go"), []byte(switchFile(src.types.Name(), trace, n))); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(s.folder, fmt.Sprintf("overlay-%t.json", trace))
	return path, os.WriteFile(path, text, 0o600)
}

// trace runs each test alone, and records its time and which mutants it reaches.
func (s *suite) trace(t *tests) error {
	help, _ := exec.Command(t.binary, "-help").CombinedOutput()
	if bytes.Contains(help, []byte("rapid.seed")) { // the same draws for each mutant, and no time or files for failures
		t.flags = []string{"-rapid.seed=1", "-rapid.nofailfile", "-rapid.shrinktime=0s"}
	}
	out, err := s.command(context.Background(), t, "-test.list=.").Output()
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	for _, name := range strings.Fields(string(out)) {
		if strings.HasPrefix(name, "Benchmark") || s.skip != nil && s.skip.MatchString(name) {
			continue
		}
		if err := s.traceOne(t, &test{name: name}); err != nil {
			return err
		}
	}
	return nil
}

func (s *suite) traceOne(t *tests, one *test) error {
	file := filepath.Join(s.folder, "reached")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return err
	}
	cmd := s.command(context.Background(), t, "-test.run=^"+one.name+"$")
	cmd.Env = append(os.Environ(), reachVariable+"="+file)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s fails without any mutant: %w\n%s", one.name, err, out)
	}
	one.took = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	t.all = append(t.all, one)
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	seen := map[int32]bool{}
	for _, line := range strings.Fields(string(text)) {
		n, err := strconv.ParseInt(line, 10, 32)
		if err != nil {
			return err
		}
		if id := int32(n); !seen[id] {
			seen[id] = true
			t.reached[id] = append(t.reached[id], one)
		}
	}
	return nil
}

func (s *suite) command(ctx context.Context, t *tests, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, t.binary, append(args, t.flags...)...)
	cmd.Dir = t.Dir
	return cmd
}

// fate is the result of a mutant.
type fate int

const (
	unreached fate = iota // no test reaches it
	survived
	killed
	timeout // killed, by taking far too long or too much memory
)

// quick bounds the time of tests that are tried first.
const quick = 100 * time.Millisecond

// try runs the tests that reach a mutant with it, until one fails. It also returns the number of those tests.
func (s *suite) try(m *mutant) (fate, int, error) {
	result, count := unreached, 0
	for _, t := range s.binary {
		list := t.reached[m.id]
		count += len(list)
		var first, then []*test
		for _, one := range list {
			if one.took <= quick {
				first = append(first, one)
			} else {
				then = append(then, one)
			}
		}
		for _, some := range [][]*test{first, then} {
			if len(some) == 0 || result > survived {
				continue
			}
			var err error
			if result, err = s.tryOn(t, some, m); err != nil {
				return 0, 0, err
			}
		}
	}
	return result, count, nil
}

func (s *suite) tryOn(t *tests, list []*test, m *mutant) (fate, error) {
	var names []string
	var took time.Duration
	for _, one := range list {
		names = append(names, one.name)
		took += one.took
	}
	// Measure processor time, because the machine may be busy. The clock only ends tests that wait for ever.
	cpu := s.slack + int(2*took.Seconds())
	limit := 2*time.Minute + 50*took
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	args := append([]string{
		"-c", fmt.Sprintf(`ulimit -t %d; ulimit -v 4000000; exec "$0" "$@"`, cpu), t.binary,
		"-test.failfast", "-test.timeout=0", "-test.run=^(" + strings.Join(names, "|") + ")$",
	}, t.flags...)
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.Dir = t.Dir
	cmd.Env = append(os.Environ(), mutantVariable+"="+strconv.Itoa(int(m.id)))
	out, err := cmd.CombinedOutput()
	exit := &exec.ExitError{}
	switch {
	case err == nil:
		return survived, nil
	case !errors.As(err, &exit):
		return 0, fmt.Errorf("tests of %s: %w", t.ImportPath, err)
	}
	m.output = out
	if !exit.Exited() {
		return timeout, nil
	}
	return killed, nil
}
