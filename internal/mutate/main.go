package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

type options struct {
	n       int
	seed    int64
	tags    string
	tests   string
	match   string
	skip    string
	minimum float64
	list    bool
	slack   int
}

func main() {
	var o options
	flag.IntVar(&o.n, "n", 0, "number of mutants to draw; 0 = all")
	flag.Int64Var(&o.seed, "seed", 1, "seed of the draw")
	flag.StringVar(&o.tags, "tags", "", "build tags")
	flag.StringVar(&o.tests, "tests", "", "packages whose tests run (default: the mutated ones)")
	flag.StringVar(&o.match, "match", "", "regular expression: only mutants whose name matches")
	flag.StringVar(&o.skip, "skip", "", "regular expression: tests to leave out")
	flag.Float64Var(&o.minimum, "min", 0, "fail if a smaller share of the mutants is killed, in percent")
	flag.IntVar(&o.slack, "slack", 3, "processor time that tests may take beyond twice their time without a mutant, in seconds")
	flag.BoolVar(&o.list, "list", false, "print the mutants and run nothing")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: mutate [flags] package...\nMeasures which changes of the packages' code their tests notice.")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	share, err := measure(o, flag.Args(), os.Stdout, os.Stderr)
	if err == nil && share < o.minimum {
		err = fmt.Errorf("%.1f %% of the mutants were killed, less than the required %.1f %%", share, o.minimum)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// measure writes the report of a run to out, and its progress to progress. It returns the share of killed mutants in
// percent.
func measure(o options, patterns []string, out, progress io.Writer) (float64, error) {
	sources, err := load(o.tags, patterns)
	if err != nil {
		return 0, err
	}
	var all []*mutant
	var dirs []string
	edits := map[*source]map[string][]edit{}
	next := int32(1)
	for _, s := range sources {
		edits[s] = map[string][]edit{}
		dirs = append(dirs, s.Dir)
		for _, name := range s.GoFiles {
			if s.files[name] != nil {
				found, e := mutate(s, name, &next)
				all, edits[s][name] = append(all, found...), e
			}
		}
	}
	drawn, equivalent, err := draw(o, all, dirs)
	if err != nil {
		return 0, err
	}
	if o.list {
		for _, m := range drawn {
			fmt.Fprintf(out, "%s:%d %s\n", m.dir, m.line, m)
		}
		return 100, nil
	}
	fmt.Fprintf(progress, "%d mutants, %d equivalent, %d drawn\n", len(all), equivalent, len(drawn))
	s, err := prepare(o, patterns, sources, edits, int(next))
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(s.folder)
	return report(s, drawn, out, progress)
}

// draw returns the mutants of a run, and the number of equivalent ones among all.
func draw(o options, all []*mutant, dirs []string) ([]*mutant, int, error) {
	rest, equivalent, err := withoutEquivalent(all, dirs)
	if err != nil {
		return nil, 0, err
	}
	match, err := regexp.Compile(o.match)
	if err != nil {
		return nil, 0, fmt.Errorf("-match: %w", err)
	}
	rest = slices.DeleteFunc(rest, func(m *mutant) bool { return !match.MatchString(m.String()) })
	return sample(rest, o.n, o.seed), equivalent, nil
}

// prepare builds and traces the tests.
func prepare(o options, patterns []string, sources []*source, edits map[*source]map[string][]edit, n int) (*suite, error) {
	s := &suite{tags: o.tags, slack: o.slack}
	var err error
	if o.skip != "" {
		if s.skip, err = regexp.Compile(o.skip); err != nil {
			return nil, fmt.Errorf("-skip: %w", err)
		}
	}
	if o.tests != "" {
		patterns = strings.Fields(o.tests)
	}
	tested, err := list(o.tags, patterns...)
	if err != nil {
		return nil, err
	}
	tested = slices.DeleteFunc(tested, func(p *listed) bool { return len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 })
	if s.folder, err = os.MkdirTemp("", "mutate"); err != nil {
		return nil, err
	}
	if err := s.build(tested, sources, edits, n); err != nil {
		os.RemoveAll(s.folder)
		return nil, err
	}
	return s, nil
}

func report(s *suite, drawn []*mutant, out, progress io.Writer) (float64, error) {
	began := time.Now()
	count := map[fate]int{}
	byDir := map[string][2]int{} // killed, all
	wd, _ := os.Getwd()
	for i, m := range drawn {
		result, tests, err := s.try(m)
		if err != nil {
			return 0, err
		}
		count[result]++
		sum := byDir[m.dir]
		sum[1]++
		if result >= killed {
			sum[0]++
		} else {
			path := filepath.Join(m.dir, m.file)
			if rel, err := filepath.Rel(wd, path); err == nil {
				path = rel
			}
			why := "no test reaches it"
			if result == survived {
				why = fmt.Sprintf("%d tests reach it", tests)
			}
			fmt.Fprintf(out, "%s:%d: survived, %s\n    %s\n%s%s", path, m.line, why, m, marked("-", m.before), marked("+", m.after))
		}
		byDir[m.dir] = sum
		if (i+1)%25 == 0 {
			fmt.Fprintf(progress, "%d of %d in %v: %d killed\n", i+1, len(drawn), time.Since(began).Round(time.Second), count[killed]+count[timeout])
		}
	}
	for _, b := range s.binary {
		fmt.Fprintf(out, "tests: %s, %d of them\n", b.ImportPath, len(b.all))
	}
	var dirs []string
	for dir := range byDir {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	for _, dir := range dirs {
		sum := byDir[dir]
		rel, _ := filepath.Rel(wd, dir)
		fmt.Fprintf(out, "%s: %d of %d killed, %.1f %%\n", rel, sum[0], sum[1], percent(sum[0], sum[1]))
	}
	share := percent(count[killed]+count[timeout], len(drawn))
	fmt.Fprintf(out, "all: %d of %d killed, %.1f %% (%d of them by taking too long); %d survived, %d were not reached\n",
		count[killed]+count[timeout], len(drawn), share, count[timeout], count[survived], count[unreached])
	return share, nil
}

func percent(part, whole int) float64 {
	if whole == 0 {
		return 100
	}
	return 100 * float64(part) / float64(whole)
}

func marked(mark, text string) string {
	lines := strings.Split(text, "\n")
	if len(lines) > 6 {
		lines = append(lines[:5], "…")
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("  " + mark + line + "\n")
	}
	return b.String()
}
