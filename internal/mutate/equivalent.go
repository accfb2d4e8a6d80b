package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const equivalentFile = "equivalent_mutants.txt"

// readEquivalent reads the list of a folder: the mutants that change nothing that a caller sees, and the reasons. A
// line is the result of mutant.String, a colon and the reason; # begins a comment. The file need not exist.
func readEquivalent(dir string) (map[string]string, error) {
	path := filepath.Join(dir, equivalentFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	reasons := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		i := strings.LastIndex(line, "`: ")
		if i < 0 {
			return nil, fmt.Errorf("%s:%d: the line must be a mutant as in the report, a colon and a reason: %s", path, n, line)
		}
		reasons[line[:i+1]] = line[i+3:]
	}
	return reasons, lines.Err()
}

// withoutEquivalent removes the mutants that the lists of their folders name. It returns the others, and the number
// that it removed.
func withoutEquivalent(all []*mutant, dirs []string) ([]*mutant, int, error) {
	var errs []error
	listed := map[string]map[string]string{}
	used := map[string]bool{}
	for _, dir := range dirs {
		reasons, err := readEquivalent(dir)
		if err != nil {
			errs = append(errs, err)
		}
		listed[dir] = reasons
	}
	var rest []*mutant
	for _, m := range all {
		if name := m.String(); listed[m.dir][name] != "" {
			used[m.dir+name] = true
		} else {
			rest = append(rest, m)
		}
	}
	for dir, reasons := range listed {
		for name := range reasons {
			if !used[dir+name] {
				errs = append(errs, fmt.Errorf("%s: no mutant is %s: the code has changed, so remove the line or adapt it", filepath.Join(dir, equivalentFile), name))
			}
		}
	}
	return rest, len(all) - len(rest), errors.Join(errs...)
}
