package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// root is the folder of the module.
const root = "../.."

// pkg is a package of the module.
type pkg struct {
	path  string // below the module
	files map[string]*ast.File
	tests map[string]*ast.File // also those of a package name_test
	lines int                  // of files
}

// tree reads all packages of the module, by their path.
var tree = sync.OnceValues(func() (map[string]*pkg, error) {
	all := map[string]*pkg{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); name != root && (base == "testdata" || base == "bin" || strings.HasPrefix(base, ".")) {
				return fs.SkipDir
			}
			if _, err := os.Stat(filepath.Join(name, "go.mod")); name != root && err == nil {
				return fs.SkipDir // another module
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		return read(all, filepath.ToSlash(strings.TrimPrefix(name, root+string(filepath.Separator))))
	})
	return all, err
})

var sources = token.NewFileSet()

func read(all map[string]*pkg, name string) error {
	raw, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return err
	}
	f, err := parser.ParseFile(sources, name, raw, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir := path.Dir(name)
	p := all[dir]
	if p == nil {
		p = &pkg{path: dir, files: map[string]*ast.File{}, tests: map[string]*ast.File{}}
		all[dir] = p
	}
	if strings.HasSuffix(name, "_test.go") {
		p.tests[name] = f
		return nil
	}
	p.files[name] = f
	if !ast.IsGenerated(f) {
		p.lines += strings.Count(string(raw), "\n")
	}
	return nil
}

// calls calls f with each call of a package and its tests.
func (p *pkg) calls(f func(name string, file *ast.File, call *ast.CallExpr)) {
	for _, files := range []map[string]*ast.File{p.files, p.tests} {
		for name, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					f(name, file, call)
				}
				return true
			})
		}
	}
}

func packages(t *testing.T) map[string]*pkg {
	t.Helper()
	all, err := tree()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("only %d packages were found below %s", len(all), root)
	}
	return all
}

// imports are the packages that files import: those of the module by their path below it.
func imports(files map[string]*ast.File) map[string]bool {
	out := map[string]bool{}
	for _, f := range files {
		for _, s := range f.Imports {
			out[strings.TrimPrefix(strings.Trim(s.Path.Value, `"`), "heddle/")] = strings.HasPrefix(s.Path.Value, `"heddle/`)
		}
	}
	return out
}

// text is a file of the module.
func text(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
