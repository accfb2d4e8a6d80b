package container

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// Only an Enclosure writes limits to a container's group, and only Container.enter writes its state: whoever else did that would undo
// what they have decided.
func TestWhoWritesLimitsAndStates(t *testing.T) {
	limits, states := 0, 0
	check := func(path string) {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		slashed := filepath.ToSlash(path)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "SetLimits" {
					if limits++; !strings.HasSuffix(slashed, "enclosure/enclosure.go") {
						t.Errorf("%s writes limits: let Enclosure.Change do that", fset.Position(n.Pos()))
					}
				}
			case *ast.AssignStmt:
				for _, to := range n.Lhs {
					f, ok := to.(*ast.SelectorExpr)
					if !ok || f.Sel.Name != "state" || !strings.Contains(slashed, "container/") {
						continue
					}
					if states++; !strings.HasSuffix(slashed, "container/transition.go") {
						t.Errorf("%s writes a state: let Container.transition do that", fset.Position(n.Pos()))
					}
				}
			}
			return true
		})
	}
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		slashed := filepath.ToSlash(path)
		if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && !strings.HasPrefix(slashed, "../cgroup/") {
			abs, _ := filepath.Abs(path)
			check(abs)
		}
		return err
	})
	if err != nil || limits == 0 || states == 0 {
		t.Errorf("%d writers of limits, %d of states, %v", limits, states, err)
	}
}
