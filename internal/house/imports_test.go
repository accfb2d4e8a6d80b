package house

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// layers reads the layers that docs/architecture.md states, the highest first. Each has one or more parts: a package with all below it,
// unless a longer path is a part itself.
func layers(t *testing.T) map[string]int {
	t.Helper()
	block := regexp.MustCompile("(?s)```layers\n(.*?)```").FindStringSubmatch(text(t, "docs/architecture.md"))
	if block == nil {
		t.Fatal("docs/architecture.md has no block of layers")
	}
	rank := map[string]int{}
	for i, line := range strings.Split(strings.TrimSpace(block[1]), "\n") {
		for _, part := range strings.Fields(line) {
			rank[part] = i
		}
	}
	return rank
}

// part is the part of a layer that a package belongs to, "" if it belongs to none.
func part(rank map[string]int, name string) string {
	for name != "" {
		if _, ok := rank[name]; ok {
			return name
		}
		name = name[:max(0, strings.LastIndexByte(name, '/'))]
	}
	return ""
}

// wrong lists the imports from a package that run up, or across from one part of a layer to another.
func wrong(rank map[string]int, from string, imported map[string]bool) (bad []string) {
	for name, ours := range imported {
		if ours && !below(rank, part(rank, from), part(rank, name)) {
			bad = append(bad, name)
		}
	}
	return bad
}

// below reports whether a part may import another: itself, or one in a layer below. What is within a part of a higher layer, as rm/ledger
// is within rm, is for that part and those above it.
func below(rank map[string]int, from, to string) bool {
	if from == to {
		return true
	}
	for at := to; at != ""; at = part(rank, at[:max(0, strings.LastIndexByte(at, '/'))]) {
		if rank[at] <= rank[from] && from != at && !strings.HasPrefix(from, at+"/") || at == to && rank[at] <= rank[from] {
			return false
		}
	}
	return to != ""
}

// No import runs up a layer, or from one part of a layer to another: so rm and nm never import each other, and there is no circle. Tests
// may use what starts daemons, which is in integration.
func TestNoImportRunsUpALayer(t *testing.T) {
	rank := layers(t)
	for name, p := range packages(t) {
		if part(rank, name) == "" {
			t.Errorf("%s is in no layer of docs/architecture.md", name)
			continue
		}
		for _, up := range wrong(rank, name, imports(p.files)) {
			t.Errorf("%s imports %s: docs/architecture.md has it in the same layer or above", name, up)
		}
		for _, up := range wrong(rank, name, imports(p.tests)) {
			if !strings.HasPrefix(up, "integration/") {
				t.Errorf("a test of %s imports %s: docs/architecture.md has it in the same layer or above", name, up)
			}
		}
	}
	for part := range rank {
		if _, err := tree(); err == nil && !exists(packages(t), part) {
			t.Errorf("the layers of docs/architecture.md have %s, which is no package", part)
		}
	}
}

func exists(all map[string]*pkg, part string) bool {
	for name := range all {
		if name == part || strings.HasPrefix(name, part+"/") {
			return true
		}
	}
	return false
}

// The rule finds what it forbids.
func TestForbiddenImportsAreFound(t *testing.T) {
	rank := layers(t)
	for _, c := range []struct {
		from, to string
		bad      bool
	}{
		{"rm/leader", "nm/container", true},
		{"nm", "rm/ledger", true},
		{"yarn/ipc", "rm", true},
		{"rm/scheduler", "rm/leader", true},
		{"rm/ledger", "rm/scheduler", true},
		{"am/client", "webui", true},
		{"rm/leader", "rm/scheduler", false},
		{"rm/leader", "rm/view", false},
		{"cmd/heddle", "nm", false},
		{"sim", "rm/scheduler", false},
	} {
		if got := len(wrong(rank, c.from, map[string]bool{c.to: true})) > 0; got != c.bad {
			t.Errorf("%s → %s: forbidden %v", c.from, c.to, got)
		}
	}
}

// pure are the packages that neither do I/O nor know the time nor draw random numbers.
func pure(name string) bool {
	return name == "rm/ledger" || name == "rm/scheduler" || strings.HasPrefix(name, "rm/scheduler/") && name != "rm/scheduler/eventlog"
}

// impure are packages that no pure one imports.
var impure = regexp.MustCompile(`^(net|net/.*|os|os/.*|syscall|math/rand|math/rand/v2|crypto/rand|log|log/.*|io/fs|io/ioutil|github\.com/sirupsen/.*)$`)

// harmless are imports of which a pure package uses functions that are pure themselves.
var harmless = map[string]string{"rm/ledger": "net"} // net.JoinHostPort

// clocks are functions of package time that make a difference between two runs.
var clocks = map[string]bool{"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true, "AfterFunc": true, "Tick": true, "NewTimer": true, "NewTicker": true}

func TestPurePackagesArePure(t *testing.T) {
	looked := 0
	for name, p := range packages(t) {
		if !pure(name) {
			continue
		}
		looked++
		for imported := range imports(p.files) {
			if impure.MatchString(imported) && harmless[name] != imported {
				t.Errorf("%s is pure, and imports %s", name, imported)
			}
		}
		for _, f := range p.files {
			ast.Inspect(f, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && clocks[s.Sel.Name] {
					if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" {
						t.Errorf("%s: a pure package calls time.%s", sources.Position(s.Pos()), s.Sel.Name)
					}
				}
				return true
			})
		}
	}
	if looked < 3 {
		t.Errorf("only %d packages are pure", looked)
	}
}

// Each row of the tables in docs/architecture.md says as much as its head: a word has its meaning.
func TestRowsOfTheArchitectureAreWhole(t *testing.T) {
	columns, rows := 0, 0
	for i, line := range strings.Split(text(t, "docs/architecture.md"), "\n") {
		if !strings.HasPrefix(line, "|") {
			columns = 0
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), "|")
		if columns == 0 {
			columns = len(cells)
		}
		rows++
		if len(cells) != columns || slices.ContainsFunc(cells, func(c string) bool { return strings.TrimSpace(c) == "" }) {
			t.Errorf("docs/architecture.md:%d has not the %d columns of its table: %s", i+1, columns, line)
		}
	}
	if rows < 40 {
		t.Errorf("only %d rows were found", rows)
	}
}
