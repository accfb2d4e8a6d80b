package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A decoder of outside bytes is a function or method that
//
//   - has a name of Decode, Parse, Read or Unmarshal, alone or before a capital letter, in any case of its first letter,
//   - takes bytes, text or a reader (a string that its parameter's name calls a path is no text),
//   - returns an error as its last result, and
//   - isn't one of Read, ReadAt and ReadFrom of Go's readers, which hand bytes on and see no sense in them.
//
// Packages that only tests use (integration, internal) have none.
var (
	decoderName = regexp.MustCompile(`^([Dd]ecode|[Pp]arse|[Rr]ead|[Uu]nmarshal)([A-Z].*)?$`)
	outside     = []string{
		"[]byte", "string", "[]string", "io.Reader", "io.ReaderAt", "io.ByteReader", "*bufio.Reader", "*bytes.Reader", "*writable.Reader",
		"*json.Decoder", "*xml.Decoder",
	}
	pathNames = []string{"path", "file", "dir", "folder", "root"}
	handsOn   = []string{"Read", "ReadAt", "ReadFrom"}
	onlyTests = []string{"integration", "internal"}
)

// notFuzzed are the decoders that no fuzz target of their package reaches, and why they need none.
var notFuzzed = map[string]map[string]bool{
	"it looks a word up in a list, and decodes nothing": {
		"nm/logs.ParseFormat":                      true,
		"nm/suspend.ParseLevel":                    true,
		"rm/leader/level.ParseLevel":               true,
		"rm/queue/leafpolicy.ParseOrdering":        true,
		"rm/queue/leafpolicy.ParseStage":           true,
		"rm/queue/suspension.Parse":                true,
		"rm/scheduler/policy/partition.ParseModel": true,
	},
	"it opens a file; another decoder, which has a target, reads that": {
		"nm/jvmarchive.readAll":      true,
		"nm/warming.ReadJob":         true,
		"nm/image/bundle.readInRoot": true,
		"nm/image.Runner.readLogins": true,
		"rm/hosts.read":              true,
		"sim/mapreduce.ReadFile":     true,
		"am/mapreduce/job.ReadJSON":  true, // or encoding/json does, into a struct of the caller
	},
	"it words the error of a decoder of another package, which has a target": {
		"nm/rest.parseApp":       true,
		"nm/rest.parseContainer": true,
	},
	"the time package decodes it": {
		"rm/view.ParseTime": true,
	},
}

// A fuzz target of its package reaches each decoder of outside bytes, as far as names show it (see uses). Whether it feeds the decoder, and
// sees what comes out, is for readers to judge.
func TestDecodersAreFuzzed(t *testing.T) {
	all := packages(t)
	found := map[string]bool{}
	excused := map[string]bool{}
	for _, list := range notFuzzed {
		maps.Copy(excused, list)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if slices.Contains(onlyTests, strings.Split(name, "/")[0]) {
			continue
		}
		reached := reachedByFuzzing(all[name])
		for _, f := range all[name].files {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || ast.IsGenerated(f) || !decodes(fn) {
					continue
				}
				what := name + "." + called(fn)
				found[what] = true
				switch {
				case !reached[fn] && !excused[what]:
					t.Errorf("%v: no fuzz target of the package reaches the decoder %s: write one, or list it with a reason", sources.Position(fn.Pos()), what)
				case reached[fn] && excused[what]:
					t.Errorf("a fuzz target reaches the decoder %s: take it off the list", what)
				}
			}
		}
	}
	if len(found) < 100 {
		t.Errorf("only %d decoders were found", len(found))
	}
	for what := range excused {
		if !found[what] {
			t.Errorf("there is no decoder %s: take it off the list", what)
		}
	}
}

// The rule finds what it should find, and nothing else.
func TestDecodersAreFound(t *testing.T) {
	for decl, want := range map[string]bool{
		"func parse(b []byte) error":                    true,
		"func (d *x) readOne(r io.Reader) (int, error)": true,
		"func Unmarshal(text string, to any) error":     true,
		"func DecodeAll(name, text string) error":       true,
		"func (d *x) Read(b []byte) (int, error)":       false,
		"func parse(b []byte) int":                      false,
		"func readFile(path string) error":              false,
		"func readable(b []byte) error":                 false,
		"func Parser(b []byte) error":                   false,
		"func (d *x) read() error":                      false,
		"func write(b []byte) error":                    false,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x; "+decl+" { panic(0) }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := decodes(f.Decls[0].(*ast.FuncDecl)); got != want {
			t.Errorf("%s is a decoder: %v", decl, got)
		}
	}
}

// called is the name of a function, with the type of a method.
func called(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	return receiver(fn.Recv.List[0].Type) + "." + fn.Name.Name
}

// decodes reports whether a function is a decoder of outside bytes.
func decodes(fn *ast.FuncDecl) bool {
	results := fn.Type.Results
	if !decoderName.MatchString(fn.Name.Name) || results == nil || types.ExprString(results.List[len(results.List)-1].Type) != "error" {
		return false
	}
	if fn.Recv != nil && slices.Contains(handsOn, fn.Name.Name) {
		return false
	}
	for _, p := range fn.Type.Params.List {
		kind := types.ExprString(p.Type)
		isPath := kind == "string" && !slices.ContainsFunc(p.Names, func(n *ast.Ident) bool { return !slices.Contains(pathNames, n.Name) })
		if slices.Contains(outside, kind) && !isPath {
			return true
		}
	}
	return false
}

// reachedByFuzzing returns the functions of a package that its fuzz targets use, directly or through others.
func reachedByFuzzing(p *pkg) map[*ast.FuncDecl]bool {
	known := declared{map[string][]ast.Node{}, map[string][]ast.Node{}}
	var todo []ast.Node
	for _, files := range []map[string]*ast.File{p.files, p.tests} {
		for _, f := range files {
			for _, d := range f.Decls {
				known.add(d)
			}
		}
	}
	for name, nodes := range known.names {
		if strings.HasPrefix(name, "Fuzz") {
			todo = append(todo, nodes...)
		}
	}
	seen := map[ast.Node]bool{}
	reached := map[*ast.FuncDecl]bool{}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[n] {
			continue
		}
		seen[n] = true
		if fn, ok := n.(*ast.FuncDecl); ok {
			reached[fn] = true
		}
		todo = append(todo, known.uses(n)...)
	}
	return reached
}

// declared are the declarations of a package and its tests. A method goes by its own name alone.
type declared struct {
	names, methods map[string][]ast.Node
}

func (d *declared) add(decl ast.Decl) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		name := decl.Name.Name
		if decl.Recv == nil {
			d.names[name] = append(d.names[name], decl)
			return
		}
		d.methods[name] = append(d.methods[name], decl)
		if strings.HasPrefix(name, "Unmarshal") { // who uses the type uses it, through encoding/json and the like
			of := receiver(decl.Recv.List[0].Type)
			d.names[of] = append(d.names[of], decl)
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				d.names[spec.Name.Name] = append(d.names[spec.Name.Name], spec)
			case *ast.ValueSpec:
				for _, n := range spec.Names {
					d.names[n.Name] = append(d.names[n.Name], spec)
				}
			}
		}
	}
}

// uses returns what a declaration may use: what has a name that occurs in it, and each method that has one. So it returns rather too much.
func (d *declared) uses(in ast.Node) (out []ast.Node) {
	ast.Inspect(in, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			out = append(out, d.names[n.Name]...)
		case *ast.SelectorExpr:
			out = append(out, d.methods[n.Sel.Name]...)
		}
		return true
	})
	return out
}
