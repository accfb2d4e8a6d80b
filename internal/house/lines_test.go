package house

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

const (
	maxFunction = 60  // lines of a function
	maxColumns  = 120 // of a line of code; a tab counts as one
)

// longFunctions and wideLines are how many there are still. Lower them when there are fewer.
const (
	longFunctions = 32
	wideLines     = 3225
)

// Functions fit on a screen. Tests and generated code are free: a test may have a long table.
func TestFunctionsAreShort(t *testing.T) {
	var long []string
	for name, p := range packages(t) {
		for file, f := range p.files {
			if ast.IsGenerated(f) {
				continue
			}
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok {
					from := sources.Position(fn.Pos()).Line
					if n := sources.Position(fn.End()).Line - from + 1; n > maxFunction {
						long = append(long, fmt.Sprintf("%s:%d %s.%s has %d lines", file, from, name, fn.Name.Name, n))
					}
				}
			}
		}
	}
	compare(t, "functions of more than 60 lines", long, longFunctions)
}

// Lines of code are read beside others. Comments, tests and generated code are free: comments are prose, which an editor wraps, and lines of tests are rows of
// tables.
func TestLinesAreNarrow(t *testing.T) {
	var wide []string
	for _, p := range packages(t) {
		for file, f := range p.files {
			if ast.IsGenerated(f) {
				continue
			}
			comments := map[int]int{} // column at which the comment of a line begins
			for _, group := range f.Comments {
				for _, c := range group.List {
					at := sources.Position(c.Pos())
					for line := at.Line; line <= sources.Position(c.End()).Line; line++ {
						comments[line] = at.Column
						at.Column = 1
					}
				}
			}
			for i, line := range strings.Split(text(t, file), "\n") {
				if column, ok := comments[i+1]; ok {
					line = strings.TrimRight(line[:min(column-1, len(line))], " ")
				}
				if n := len([]rune(line)); n > maxColumns {
					wide = append(wide, fmt.Sprintf("%s:%d has %d columns", file, i+1, n))
				}
			}
		}
	}
	compare(t, "lines of code of more than 120 columns", wide, wideLines)
}

// compare holds what is found to a ceiling, which falls: whoever mends some lowers it.
func compare(t *testing.T, what string, found []string, most int) {
	t.Helper()
	if slices.Sort(found); len(found) > most {
		t.Errorf("there are %d %s, and may be %d\n%s", len(found), what, most, strings.Join(found, "\n"))
	}
}
