// Command packages writes docs/packages.md: each package of the module with the first sentence of its comment.
//
//	go run ./internal/packages > docs/packages.md
package main

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := write(os.Stdout, "."); err != nil {
		fmt.Fprintln(os.Stderr, "packages:", err)
		os.Exit(1)
	}
}

// section is a part of the page: the packages below some folders that no earlier section has.
type section struct {
	title string
	below []string
}

// sections are those of the page, in its order.
var sections = []section{
	{"Scheduler (all pure)", []string{"rm/scheduler"}},
	{"ResourceManager", []string{"rm"}},
	{"NodeManager", []string{"nm"}},
	{"ApplicationMaster", []string{"am"}},
	{"HDFS and web pages", []string{"hdfsadapter", "webui"}},
	{"Simulation", []string{"sim"}},
	{"Command line", []string{"cmd"}},
	{"The wire and the configuration", []string{"conf", "yarn"}},
	{"Tools that any layer may use", []string{"internal"}},
	{"Integration tests", []string{"integration"}},
}

// write writes the page of the module in a folder. A package without a comment is an error, as is one of no section.
func write(w io.Writer, root string) error {
	all, err := described(root)
	if err != nil {
		return err
	}
	fmt.Fprint(w, "# Packages\n\nThis page is made from the packages' comments by `go run ./internal/packages > docs/packages.md`; a test compares it.\n"+
		"[architecture.md](architecture.md) says how they fit together.\n")
	for _, s := range sections {
		fmt.Fprintf(w, "\n## %s\n\n| package | what it is |\n|---|---|\n", s.title)
		all = slices.DeleteFunc(all, func(p entry) bool {
			if !s.has(p.path) {
				return false
			}
			fmt.Fprintf(w, "| `%s` | %s |\n", p.path, p.what)
			return true
		})
	}
	for _, p := range all {
		return fmt.Errorf("%s is in no section: add its folder to sections in internal/packages/main.go", p.path)
	}
	return nil
}

func (s section) has(name string) bool {
	return slices.ContainsFunc(s.below, func(top string) bool { return name == top || strings.HasPrefix(name, top+"/") })
}

// entry is a package and what its comment says.
type entry struct{ path, what string }

// described finds the packages below a folder, sorted by path.
func described(root string) (all []entry, err error) {
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		case name != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || isModule(name)):
			return fs.SkipDir
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		what, ok, err := sentence(name)
		if err != nil || !ok {
			return err
		}
		if what == "" {
			return fmt.Errorf("%s has no package comment: write one that says what it is", rel)
		}
		all = append(all, entry{filepath.ToSlash(rel), what})
		return nil
	})
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	return all, err
}

// isModule reports whether a folder is another module.
func isModule(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}

// sentence returns the first sentence of the comment of a folder's package, without the name that it begins with, and whether
// the folder has a package at all.
func sentence(folder string) (what string, ok bool, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return "", false, err
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			return "", false, err
		}
		ok = true
		if text := synopsis(f, filepath.Base(folder)); text != "" {
			return text, true, nil
		}
	}
	return "", ok, nil
}

// longest is how many bytes of a sentence a cell takes. Of a longer one it takes what stands before its colon.
const longest = 140

// synopsis returns the first sentence of a file's package comment, for a cell of a table.
func synopsis(f *ast.File, folder string) string {
	if f.Doc == nil || strings.HasPrefix(f.Doc.Text(), "Code generated") {
		return ""
	}
	text := (&doc.Package{}).Synopsis(f.Doc.Text())
	for _, name := range []string{"Package " + f.Name.Name, "Command " + path.Base(folder)} {
		text = strings.TrimPrefix(text, name+" ")
	}
	if before, _, ok := strings.Cut(text, ": "); ok && len(text) > longest {
		text = before
	}
	return strings.ReplaceAll(strings.TrimSuffix(text, "."), "|", "\\|")
}
