package house

import (
	"go/ast"
	"strings"
	"testing"
)

// A ResourceManager changes its scheduler through one door (eventlog.Driver), so that all that it does is on record. Only a trial of a configuration has
// another scheduler, which it throws away.
func TestTheSchedulerHasOneDoor(t *testing.T) {
	looked := 0
	for name, p := range packages(t) {
		if name != "rm" && !strings.HasPrefix(name, "rm/") || strings.HasPrefix(name+"/", "rm/scheduler/") {
			continue
		}
		looked++
		for _, f := range p.files {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					if called := selected(n.Fun); (called == "drive.New" || called == "scheduler.New") && name != "rm/leader/trial" {
						t.Errorf("%s: %s makes a scheduler without a record", sources.Position(n.Pos()), called)
					}
				case *ast.TypeAssertExpr:
					if of, ok := n.Type.(*ast.StarExpr); ok && selected(of.X) == "drive.Driver" {
						t.Errorf("%s: this leads past the record", sources.Position(n.Pos()))
					}
				}
				return true
			})
		}
	}
	if looked < 50 {
		t.Errorf("only %d packages were looked at", looked)
	}
}

// selected returns an expression of the form package.name.
func selected(e ast.Expr) string {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	x, ok := s.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return x.Name + "." + s.Sel.Name
}
