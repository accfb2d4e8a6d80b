package house

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

// Packages that the Makefile tests without the race detector have no goroutines, nor do their tests.
func TestSequentialPackagesHaveNoGoroutines(t *testing.T) {
	list := regexp.MustCompile(`(?s)SEQUENTIAL := (.*?[^\\])\n`).FindStringSubmatch(text(t, "Makefile"))
	if list == nil {
		t.Fatal("the Makefile has no list of sequential packages")
	}
	var looked int
	for _, word := range strings.Fields(strings.ReplaceAll(list[1], "\\\n", " ")) {
		pattern := strings.TrimPrefix(word, "./")
		for name, p := range packages(t) {
			if below, all := strings.CutSuffix(pattern, "/..."); name != pattern && (!all || name != below && !strings.HasPrefix(name, below+"/")) {
				continue
			}
			looked++
			for _, files := range []map[string]*ast.File{p.files, p.tests} {
				noGoroutines(t, name, files)
			}
		}
	}
	if looked < 10 {
		t.Errorf("only %d packages were looked at", looked)
	}
}

func noGoroutines(t *testing.T, name string, files map[string]*ast.File) {
	t.Helper()
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: %s is tested without the race detector", sources.Position(n.Pos()), name)
			case *ast.SelectorExpr:
				if n.Sel.Name == "Parallel" {
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "t" {
						t.Errorf("%s: %s is tested without the race detector", sources.Position(n.Pos()), name)
					}
				}
			}
			return true
		})
	}
}
