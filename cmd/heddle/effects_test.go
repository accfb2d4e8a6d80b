package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"heddle/conf"
)

// unnamed are keys with an effect that the code names in another way, and that way.
var unnamed = map[string]string{
	"hadoop.tmp.dir":           "other keys' values refer to it",
	"hadoop.rpc.protection":    "it has one value that daemons don't refuse",
	"heddle.scheduler.hopper.": "a table has the names",

	"yarn.resourcemanager.webapp.rest-csrf.":     "both daemons' are read by one function",
	"yarn.nodemanager.webapp.rest-csrf.":         "the same",
	"yarn.nodemanager.remote-app-log-dir-suffix": "it is the other key with -suffix",
}

// named reports whether the literals have a key, whole or in two or three parts.
func named(literals map[string]bool, key string) bool {
	if literals[key] {
		return true
	}
	for i, c := range key {
		if c != '.' {
			continue
		}
		for _, cut := range []int{i, i + 1} {
			if rest := key[cut:]; literals[key[:cut]] && (literals[rest] || cut > 0 && named(literals, strings.TrimPrefix(rest, "."))) {
				return true
			}
		}
	}
	return false
}

// A dozen settings were said to have an effect, and were checked, that nobody read. A wrong address of the job history server, which YARN's
// daemons don't read either, kept both of Heddle's from starting.
func TestSettingsWithAnEffectAreNamedInTheCode(t *testing.T) {
	literals := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == "integration" || name == "testdata" || name == "bin" || len(name) > 2 && name[0] == '.') {
			return fs.SkipDir
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, ".pb.go") || strings.HasPrefix(name, "keys_") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if text, err := strconv.Unquote(l.Value); err == nil {
					literals[text] = true
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	keys := 0
	for k := range conf.Keys() {
		if !k.Implemented || strings.Contains(k.Name, "<") {
			continue
		}
		keys++
		other := unnamed[k.Name]
		for prefix, way := range unnamed {
			if strings.HasSuffix(prefix, ".") && strings.HasPrefix(k.Name, prefix) {
				other = way
			}
		}
		if other == "" && !named(literals, k.Name) {
			t.Errorf("%s is said to have an effect, and nothing in the code names it: mark it as one without", k.Name)
		}
	}
	if keys < 300 {
		t.Errorf("only %d keys", keys)
	}
}
