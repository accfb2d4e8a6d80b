package house

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// A package is coupled to another as far as it writes the other's fields, so these rules count that, and not how many methods a type shows. Ceilings only
// fall: whoever mends a place lowers the number.

// checker finds the types of the module's packages. It knows nothing of other modules and of the standard library: what comes from there has no type, and is
// not counted.
type checker struct {
	all    map[string]*pkg
	bodies func(name string) bool // whose functions' bodies are looked at
	done   map[string]*types.Package
	info   *types.Info
}

func newChecker(all map[string]*pkg, bodies func(string) bool) *checker {
	return &checker{all: all, bodies: bodies, done: map[string]*types.Package{"unsafe": types.Unsafe}, info: &types.Info{
		Selections: map[*ast.SelectorExpr]*types.Selection{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
	}}
}

// Import implements types.Importer.
func (c *checker) Import(name string) (*types.Package, error) {
	if p := c.done[name]; p != nil {
		return p, nil
	}
	own, ours := strings.CutPrefix(name, "heddle/")
	source := c.all[own]
	if !ours || source == nil {
		p := types.NewPackage(name, path.Base(name))
		p.MarkComplete()
		c.done[name] = p
		return p, nil
	}
	var files []*ast.File
	for _, f := range slices.Sorted(maps.Keys(source.files)) {
		files = append(files, source.files[f])
	}
	cfg := types.Config{Importer: c, Error: func(error) {}, IgnoreFuncBodies: !c.bodies(own), DisableUnusedImportCheck: true}
	p, _ := cfg.Check(name, sources, files, c.info) // errors are of what isn't known
	c.done[name] = p
	return p, nil
}

// Below rm/scheduler and rm/leader, these are how many fields are written in methods and functions of another package than the one that declares the struct,
// and of another file of it than the one that declares the receiver's type. What is written to a local variable that holds the struct itself doesn't count: it
// is being made.
const (
	writesToOtherPackages = 194
	writesToOtherFiles    = 480
)

// measured are the packages whose writes are counted.
func measured(name string) bool {
	return strings.HasPrefix(name+"/", "rm/scheduler/") || strings.HasPrefix(name+"/", "rm/leader/")
}

func TestFieldsAreWrittenWhereTheirTypeIs(t *testing.T) {
	all := packages(t)
	c := newChecker(all, measured)
	var packages, files []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !measured(name) {
			continue
		}
		if _, err := c.Import("heddle/" + name); err != nil {
			t.Fatal(err)
		}
		for file, f := range all[name].files {
			if ast.IsGenerated(f) {
				continue
			}
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Body == nil {
					continue
				}
				home := file
				if fn.Recv != nil {
					home = c.declares(fn, file)
				}
				for _, s := range c.written(fn.Body) {
					owner := c.owner(s)
					place := fmt.Sprint(sources.Position(s.Pos()), " writes ", s.Sel.Name, " of ", owner)
					switch {
					case owner == "" || owner == home:
					case path.Dir(owner) != name:
						packages = append(packages, place)
					default:
						files = append(files, place)
					}
				}
			}
		}
	}
	compare(t, "fields of other packages' structs written", packages, writesToOtherPackages)
	compare(t, "fields of other files' structs written", files, writesToOtherFiles)
}

// declares returns the file that declares the type of a method's receiver.
func (c *checker) declares(fn *ast.FuncDecl, file string) string {
	obj, ok := c.info.Defs[fn.Name].(*types.Func)
	if !ok {
		return file
	}
	recv := obj.Signature().Recv().Type()
	if p, ok := recv.(*types.Pointer); ok {
		recv = p.Elem()
	}
	if n, ok := recv.(*types.Named); ok {
		return sources.Position(n.Obj().Pos()).Filename
	}
	return file
}

// written returns the fields that a body assigns, increments or decrements.
func (c *checker) written(body *ast.BlockStmt) (all []*ast.SelectorExpr) {
	add := func(e ast.Expr) {
		for {
			switch x := e.(type) {
			case *ast.IndexExpr:
				e = x.X
				continue
			case *ast.ParenExpr:
				e = x.X
				continue
			case *ast.SelectorExpr:
				if s := c.info.Selections[x]; s != nil && s.Kind() == types.FieldVal && !c.local(x) {
					all = append(all, x)
				}
			}
			return
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, e := range n.Lhs {
					add(e)
				}
			}
		case *ast.IncDecStmt:
			add(n.X)
		}
		return true
	})
	return all
}

// local reports whether a selector is of a variable that holds the struct itself.
func (c *checker) local(s *ast.SelectorExpr) bool {
	x := s.X
	for {
		switch e := x.(type) {
		case *ast.SelectorExpr:
			if sel := c.info.Selections[e]; sel == nil || isPointer(sel.Type()) {
				return false
			}
			x = e.X
			continue
		case *ast.Ident:
			v, ok := c.info.Uses[e].(*types.Var)
			return ok && !isPointer(v.Type()) && v.Parent() != nil && v.Parent() != v.Pkg().Scope()
		}
		return false
	}
}

func isPointer(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

// owner returns the file that declares the struct which a field belongs to; empty: none of the module.
func (c *checker) owner(s *ast.SelectorExpr) string {
	return sources.Position(c.info.Selections[s].Obj().Pos()).Filename
}

// maxMethods is how many methods a struct may have, with functions and methods of coats (manyFunctions).
const maxMethods = 40

// manyFunctions has the structs with more methods than maxMethods where all are counted: also functions of the package whose first parameter is the struct, and
// methods of coats. A coat is a struct of the package that holds nothing but a pointer to the struct. The number is the most that each may have.
var manyFunctions = map[string]int{
	"am/mapreduce.coordinator":            52,
	"am/stage.Planner":                    71,
	"cmd/heddle/internal/command.session": 101,
	"conf.Config":                         79,
	"integration/daemons.Cluster":         49,
	"integration/hadooplab.Lab":           49,
	"nm.NodeManager":                      50,
	"nm/container.Container":              120,
	"nm/probe.Worker":                     57,
	"nm/rest.Server":                      58,
	"rm.ResourceManager":                  73,
	"rm/leader/level.Levels":              44,
	"rm/ledger.State":                     59,
	"rm/queue.Tree":                       45,
	"rm/queue.parser":                     65,
	"rm/raft.Node":                        67,
	"rm/rest.server":                      136,
	"rm/scheduler.partitions":             69,
	"rm/scheduler/core.Core":              234,
	"rm/scheduler/drive.Driver":           48,
	"rm/scheduler/policy/capacity.Policy": 57,
	"rm/scheduler/policy/fair.Policy":     68,
	"rm/service.Service":                  114,
	"rm/view.Viewer":                      49,
	"sim/whatif/play.player":              66,
}

func TestFunctionsAndCoatsCountAsMethods(t *testing.T) {
	found := map[string]int{}
	for name, p := range packages(t) {
		structs, coats := map[string]bool{}, map[string]string{}
		for _, f := range p.files {
			if ast.IsGenerated(f) {
				continue
			}
			for _, d := range f.Decls {
				if g, ok := d.(*ast.GenDecl); ok {
					for _, s := range g.Specs {
						if s, ok := s.(*ast.TypeSpec); ok {
							if of, ok := s.Type.(*ast.StructType); ok {
								structs[s.Name.Name] = true
								if l := of.Fields.List; len(l) == 1 && len(l[0].Names) <= 1 {
									if x, ok := l[0].Type.(*ast.StarExpr); ok {
										coats[s.Name.Name] = receiver(x.X)
									}
								}
							}
						}
					}
				}
			}
		}
		worn := func(of string) string {
			for range len(coats) {
				if below := coats[of]; structs[below] {
					of = below
				}
			}
			return of
		}
		for _, f := range p.files {
			if ast.IsGenerated(f) {
				continue
			}
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				of := ""
				if fn.Recv != nil {
					of = receiver(fn.Recv.List[0].Type)
				} else if l := fn.Type.Params.List; len(l) > 0 {
					of = receiver(l[0].Type)
				}
				if structs[of] {
					found[name+"."+worn(of)]++
				}
			}
		}
	}
	for of, n := range found {
		switch most, listed := manyFunctions[of]; {
		case n > maxMethods && !listed:
			t.Errorf("%s has %d methods, functions and methods of coats, and may have %d: cut it where its ideas part", of, n, maxMethods)
		case listed && n > most:
			t.Errorf("%s has %d methods, functions and methods of coats, and may not have more than %d", of, n, most)
		case listed && n < maxMethods:
			t.Errorf("%s has %d methods, functions and methods of coats, and needs no exception any more: take it off the list", of, n)
		}
	}
	for of := range manyFunctions {
		if found[of] == 0 {
			t.Errorf("there is no %s: take it off the list", of)
		}
	}
}
