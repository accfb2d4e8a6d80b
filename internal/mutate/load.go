package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// listed is the answer of go list about a package.
type listed struct {
	ImportPath, Dir, Export   string
	GoFiles                   []string
	TestGoFiles, XTestGoFiles []string
	Error                     *struct{ Err string }
}

// list runs go list with patterns.
func list(tags string, args ...string) ([]*listed, error) {
	cmd := exec.Command("go", append([]string{"list", "-e", "-json", "-tags=" + tags}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	var all []*listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &listed{}
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if p.Error != nil {
			return nil, fmt.Errorf("%s: %s", p.ImportPath, strings.TrimSpace(p.Error.Err))
		}
		all = append(all, p)
	}
}

// source is a parsed and type-checked package.
type source struct {
	listed
	fset  *token.FileSet
	files map[string]*ast.File // files by name within Dir, without generated ones
	text  map[string][]byte
	types *types.Package
	info  *types.Info
}

// load reads the packages of the patterns.
func load(tags string, patterns []string) ([]*source, error) {
	wanted, err := list(tags, patterns...)
	if err != nil {
		return nil, err
	}
	deps, err := list(tags, append([]string{"-deps", "-export"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, d := range deps {
		exports[d.ImportPath] = d.Export
	}
	var all []*source
	for _, l := range wanted {
		s, err := check(l, exports)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.ImportPath, err)
		}
		if len(s.files) > 0 {
			all = append(all, s)
		}
	}
	return all, nil
}

func check(l *listed, exports map[string]string) (*source, error) {
	s := &source{
		listed: *l, fset: token.NewFileSet(), files: map[string]*ast.File{}, text: map[string][]byte{},
		info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}},
	}
	var files []*ast.File
	for _, name := range l.GoFiles {
		text, err := os.ReadFile(filepath.Join(l.Dir, name))
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(s.fset, filepath.Join(l.Dir, name), text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
		if !ast.IsGenerated(f) {
			s.files[name], s.text[name] = f, text
		}
	}
	conf := types.Config{Importer: importer.ForCompiler(s.fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})}
	var err error
	s.types, err = conf.Check(l.ImportPath, s.fset, files, s.info)
	return s, err
}
