package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"heddle/cmd/heddle/internal/verdict"
	"heddle/conf"
	"heddle/conf/protection"
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

// texts are the literals of a folder's code, its constants, and sums of them.
type texts struct {
	constants map[string]ast.Expr
	found     map[string]bool
}

// read finds the texts of a file whose folder's constants are known.
func (x *texts) read(f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok {
			if text, ok := x.value(e, 0); ok {
				x.found[text] = true
			}
		}
		return true
	})
}

// value returns a text that the code has as a literal, a constant or a sum of them.
func (x *texts) value(e ast.Expr, depth int) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, e.Kind == token.STRING && err == nil
	case *ast.Ident:
		if of := x.constants[e.Name]; of != nil && depth < 5 {
			return x.value(of, depth+1)
		}
	case *ast.BinaryExpr:
		left, ok := x.value(e.X, depth)
		right, too := x.value(e.Y, depth)
		return left + right, ok && too && e.Op == token.ADD
	}
	return "", false
}

// constantsOf adds a file's constants.
func (x *texts) constantsOf(f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		d, ok := n.(*ast.GenDecl)
		if !ok || d.Tok != token.CONST {
			return true
		}
		for _, s := range d.Specs {
			v := s.(*ast.ValueSpec)
			for i, of := range v.Values {
				x.constants[v.Names[i].Name] = of
			}
		}
		return true
	})
}

// textsOfCode returns the texts of all code but the registry's and the tests'.
func textsOfCode(t *testing.T) map[string]bool {
	t.Helper()
	folders := map[string][]*ast.File{}
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
		folders[filepath.Dir(path)] = append(folders[filepath.Dir(path)], f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, files := range folders {
		x := &texts{constants: map[string]ast.Expr{}, found: found}
		for _, f := range files {
			x.constantsOf(f)
		}
		for _, f := range files {
			x.read(f)
		}
	}
	return found
}

// A dozen settings were said to have an effect, and were checked, that nobody read. A wrong address of the job history server, which YARN's
// daemons don't read either, kept both of Heddle's from starting.
func TestSettingsWithAnEffectAreNamedInTheCode(t *testing.T) {
	literals := textsOfCode(t)
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

// harmless are keys without an effect that the code names all the same, and why.
var harmless = map[string]string{
	"yarn.resourcemanager.store.class":                                    "the REST API shows it, as YARN's does",
	"yarn.resourcemanager.recovery.enabled":                               "the same",
	"yarn.resourcemanager.resource-tracker.client.thread-count":           "heddle-lab bench stock sets it for YARN",
	"yarn.resourcemanager.scheduler.client.thread-count":                  "the same",
	"yarn.resourcemanager.activities-manager.scheduler-activities.ttl-ms": "the same",
	"yarn.scheduler.queue-placement-rules.app-name":                       "it is a rule's name as well",
}

// idle returns what conf check says of all keys that it takes for ones without effect.
func idle(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("../../conf/facts/yarn-keys.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for line := range strings.Lines(string(data)) {
		if key, _, _ := strings.Cut(strings.TrimSpace(line), "\t"); strings.HasPrefix(key, "yarn.") && !strings.Contains(key, "<") && conf.Canonical(key) == key {
			if _, registered := conf.FindKey(key); !registered {
				keys = append(keys, key)
			}
		}
	}
	for k := range conf.Keys() {
		if !k.Implemented && conf.Canonical(k.Name) == k.Name && !strings.Contains(k.Name, "<") {
			keys = append(keys, k.Name)
		}
	}
	found := map[string]string{}
	for _, value := range []string{"1234567", "true", "false", "host:1234", "/some/path", "distributed", "placement-processor"} { // one of them isn't the default, and is of the key's kind
		var all []string
		for i, key := range keys {
			if value == "1234567" {
				all = append(all, key+"="+strconv.Itoa(i)) // some refer to others
			} else {
				all = append(all, key+"="+value)
			}
		}
		c, err := conf.Load(conf.Options{Overrides: all})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range c.Validate().Problems {
			if p.Severity == conf.Info {
				found[p.Key] = p.Message
			}
		}
	}
	for _, key := range keys {
		if found[key] == "" {
			t.Errorf("%s has no effect, and conf check doesn't say so", key)
		}
	}
	return found
}

// Commands read a ResourceManager's address of HTTPS, and conf check said that it has no effect: only what daemons read as they start was
// looked at. A refresh, an application and a command read more.
func TestSettingsWithoutEffectAreNotNamedInTheCode(t *testing.T) {
	texts, all := textsOfCode(t), idle(t)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if !texts[key] || harmless[key] != "" || asks(t, key) {
			continue
		}
		t.Errorf("the code names %s, and it %s", key, all[key])
	}
	for key, why := range harmless {
		if all[key] == "" || !texts[key] {
			t.Errorf("%s needs no excuse (%s)", key, why)
		}
	}
	if len(all) < 400 { // nothing was tried
		t.Errorf("only %d keys have no effect", len(all))
	}
}

// asks reports whether the daemons name the key because Heddle lacks what it asks for.
func asks(t *testing.T, key string) bool {
	for _, value := range []string{"1234567", "true"} {
		c, err := conf.Load(conf.Options{Overrides: []string{key + "=" + value}})
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(protection.Problems(c, verdict.Daemons), func(p conf.Problem) bool { return p.Key == key }) {
			return true
		}
	}
	return false
}
