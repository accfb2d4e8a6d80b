package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mutantsOf returns the mutants of the body of a function.
func mutantsOf(t *testing.T, signature, body string) []string {
	t.Helper()
	text := "package p\n\nfunc f" + signature + " {\n" + body + "\n}\n"
	s := &source{
		fset: token.NewFileSet(), text: map[string][]byte{"p.go": []byte(text)},
		info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}},
	}
	f, err := parser.ParseFile(s.fset, "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	if s.types, err = (&types.Config{}).Check("p", s.fset, []*ast.File{f}, s.info); err != nil {
		t.Fatal(err)
	}
	s.files = map[string]*ast.File{"p.go": f}
	next := int32(1)
	found, edits := mutate(s, "p.go", &next)
	if _, err := parser.ParseFile(s.fset, "p.go", apply([]byte(text), edits), 0); err != nil {
		t.Errorf("%s: what switches between the mutants is no Go: %v", body, err)
	}
	var names []string
	for _, m := range found {
		names = append(names, strings.TrimPrefix(m.String(), "p.go f: "))
	}
	return names
}

func TestMutants(t *testing.T) {
	for _, c := range []struct {
		signature, body string
		want            []string
	}{
		{"(a, b int) bool", "return a < b", []string{"`<` -> `>=`", "`<` -> `<=`"}},
		{"(a, b int) bool", "return a == b", []string{"`==` -> `!=`"}},
		{"(a, b bool) bool", "return a && !b", []string{"`a` -> `true`", "`!b` -> `true`"}},
		{"(a, b bool) bool", "return a || b", []string{"`a` -> `false`", "`b` -> `false`"}},
		{"(a, b int)", "if a > 0 { b++ }", []string{"`a > 0` -> `true`", "`a > 0` -> `false`", "`>` -> `>=`", "`++` -> `--`", "`b++` -> ``"}},
		{"(a, b int)", "for a != b { a += 2; b-- }", []string{
			"`a != b` -> `false`", "`+=` -> `-=`", "`a += 2` -> ``", "`2` -> `2 + 1`", "`2` -> `2 - 1`", "`--` -> `++`", "`b--` -> ``",
		}},
		{"(a []int) (n int)", "for _, x := range a { n = x }\nreturn n", []string{"`n = x` -> `break`", "`n = x` -> ``", "`n` -> `*new(int)`"}},
		{"(a *int) (*int, error)", "return a, nil", []string{"`a` -> `*new(*int)`"}},
		{"(a float64) float64", "return -a * 2", []string{
			"`-a * 2` -> `*new(float64)`", "`*` -> `/`", "`-a` -> `a`", "`2` -> `2 + 1`", "`2` -> `2 - 1`",
		}},
		{"(a, b uint8) uint8", "switch { case a > b: return a &^ b << 1 }\nreturn 0", []string{
			"`a > b` -> `true`", "`a > b` -> `false`", "`>` -> `>=`", "`a &^ b << 1` -> `*new(uint8)`", "`&^` -> `&`", "`<<` -> `>>`", "`0` -> `0 + 1`",
		}},
		{"(a int)", "defer f(a)\nfor { if a == 1 { break }; continue }", []string{
			"`defer f(a)` -> ``", "`a == 1` -> `true`", "`a == 1` -> `false`", "`1` -> `1 + 1`", "`1` -> `1 - 1`", "`break` -> ``", "`continue` -> ``",
		}},
		{"(a string) any", "type s struct { x string }; return s{x: a}", []string{"`s{x: a}` -> `*new(any)`", "`x: a` -> ``"}},
		{"(a int)", "if a < 0 { panic(\"negative\") }", []string{"`a < 0` -> `true`", "`a < 0` -> `false`", "`<` -> `<=`"}},
		{"(m map[int]int)", "m = make(map[int]int, 10)", []string{"`m = make(map[int]int, 10)` -> ``"}},
	} {
		got := mutantsOf(t, c.signature, c.body)
		slices.Sort(got)
		want := slices.Sorted(slices.Values(c.want))
		if !slices.Equal(got, want) {
			t.Errorf("%s\n got %s\nwant %s", c.body, got, want)
		}
	}
}

// module writes a module into a folder of its own and goes there.
func module(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module example\n\ngo 1.26\n"
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

const (
	clampCode = `package clamp

func Clamp(x, low, high int) int {
	if x < low {
		return low
	}
	for x > high {
		x--
	}
	return x
}

func unused(x int) int { return x * 2 }
`
	clampTest = `package clamp

import "testing"

func TestClamp(t *testing.T) {
	for x, want := range map[int]int{-3: 1, 1: 1, 5: 5, 12: 10} {
		if got := Clamp(x, 1, 10); got != want {
			t.Errorf("%d: %d", x, got)
		}
	}
}
`
)

func TestReportNamesWhatNoTestNotices(t *testing.T) {
	module(t, map[string]string{"clamp.go": clampCode, "clamp_test.go": clampTest})
	var out strings.Builder
	share, err := measure(options{slack: 1}, []string{"."}, &out, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"clamp.go:4: survived, 1 tests reach it\n    clamp.go Clamp: `<` -> `<=`\n  -\tif x < low {\n  +\tif x <= low {\n",
		"clamp.go:13: survived, no test reaches it\n    clamp.go unused: `*` -> `/`\n",
		"all: 8 of 13 killed, 61.5 % (2 of them by taking too long); 1 survived, 4 were not reached",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if share < 61 || share > 62 || t.Failed() {
		t.Errorf("%.1f %%:\n%s", share, &out)
	}
}

func TestEquivalentMutantsDontCount(t *testing.T) {
	const line = "clamp.go Clamp: `<` -> `<=`: what is equal is returned either way\n"
	module(t, map[string]string{"clamp.go": clampCode, "clamp_test.go": clampTest, equivalentFile: "# why\n\n" + line})
	var out strings.Builder
	if _, err := measure(options{list: true}, []string{"."}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "`<`") || strings.Count(out.String(), "\n") != 12 {
		t.Errorf("drawn:\n%s", &out)
	}
	for text, want := range map[string]string{
		"clamp.go Clamp: `<<` -> `<=`: gone\n": "no mutant is clamp.go Clamp: `<<` -> `<=`",
		"clamp.go Clamp: `<` -> `<=`\n":        "clamp.go Clamp: `<` -> `<=`",
	} {
		if err := os.WriteFile(equivalentFile, []byte(line+text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := measure(options{list: true}, []string{"."}, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The lists of this repository name mutants of its code as it is. Otherwise `make mutants` would stop.
func TestEveryListOfEquivalentMutantsFitsTheCode(t *testing.T) {
	t.Chdir("../..")
	lists, err := exec.Command("git", "ls-files", "*/"+equivalentFile).Output()
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for name := range strings.FieldsSeq(string(lists)) {
		dirs = append(dirs, "./"+filepath.Dir(name))
	}
	if len(dirs) < 10 {
		t.Fatalf("there are lists in %q only", dirs)
	}
	if _, err := measure(options{list: true}, dirs, io.Discard, io.Discard); err != nil {
		t.Error(err)
	}
}

func TestSampleIsTheSameForASeed(t *testing.T) {
	var all []*mutant
	for i := range 100 {
		all = append(all, &mutant{id: int32(i), file: "x.go", was: strings.Repeat("a", i)})
	}
	first := sample(all, 10, 1)
	if !slices.Equal(first, sample(all, 10, 1)) || slices.Equal(first, sample(all, 10, 2)) || len(first) != 10 {
		t.Error("the seed doesn't decide which ones are drawn")
	}
	// One more mutant somewhere replaces one of the sample at most.
	kept := 0
	for i := range all {
		all[i].dir = "/elsewhere"
	}
	if moved := sample(all, 10, 1); !slices.Equal(first, moved) {
		t.Errorf("in another folder %v are drawn instead of %v", moved, first)
	}
	for _, m := range sample(append(all, &mutant{id: 100, file: "y.go"}), 10, 1) {
		if slices.Contains(first, m) {
			kept++
		}
	}
	if kept < 9 {
		t.Errorf("%d of 10 are drawn again", kept)
	}
}
