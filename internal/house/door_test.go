package house

import (
	"go/ast"
	"strings"
	"testing"
)

// A ResourceManager changes its scheduler through one door (eventlog.Recorder), so that all that it does is on record. Only a trial of a configuration has
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

// What a leader sees of its scheduler is a View. It answers, and leads to no core: methods of what it is made of are its own alone, and none of its
// results is a core.
func TestAViewLeadsToNoCore(t *testing.T) {
	questions := 0
	for _, f := range packages(t)["rm/scheduler"].files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || !fn.Name.IsExported() {
				continue
			}
			switch receiver(fn.Recv.List[0].Type) {
			case "partitions":
				t.Errorf("%s: %s can be called through a View", sources.Position(fn.Pos()), fn.Name.Name)
			case "View":
				questions++
				ast.Inspect(fn.Type, func(n ast.Node) bool {
					if e, ok := n.(ast.Expr); ok && (selected(e) == "core.Core" || selected(e) == "core.App") {
						t.Errorf("%s: %s leads past the record", sources.Position(fn.Pos()), fn.Name.Name)
					}
					return true
				})
			}
		}
	}
	if questions < 20 {
		t.Errorf("a View has only %d questions", questions)
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
