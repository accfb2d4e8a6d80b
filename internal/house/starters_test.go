package house

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// starters are the packages that start daemons for all tests: in processes of their own, in the test's process, and with stock Hadoop beside them.
var starters = []string{"integration/cluster", "integration/daemons", "integration/minicluster", "integration/hadooplab"}

// ownStarters are the other files below integration that start a daemon, with the reason.
var ownStarters = map[string]string{
	"integration/browser/pictures_test.go": "the pictures show a node with containers of its own processes beside a ResourceManager in the test's",
	"integration/policy/judge.go":          "a scenario is played to stock and to ours by the same files, which it changes meanwhile; it is no test",
	"integration/secure/ipv6_test.go":      "its daemons have addresses of IPv6 alone, which the others' starters don't give",
	"integration/cli/suspension_test.go":   "its daemon is refused: it doesn't start",
}

// Tests below integration have their clusters started by a shared package: one that starts a ResourceManager or a NodeManager by its own means is on the list.
func TestDaemonsAreStartedAtOnePlace(t *testing.T) {
	found := map[string]bool{}
	for name, p := range packages(t) {
		if !strings.HasPrefix(name, "integration/") || slices.Contains(starters, name) {
			continue
		}
		p.calls(func(file string, _ *ast.File, call *ast.CallExpr) {
			by := starts(call)
			if by == "" {
				return
			}
			found[file] = true
			if ownStarters[file] == "" {
				t.Errorf("%s:%s starts a daemon itself (%s): take a starter of %s", file, strconv.Itoa(sources.Position(call.Pos()).Line), by, strings.Join(starters, ", "))
			}
		})
	}
	for file := range ownStarters {
		if !found[file] {
			t.Errorf("%s starts no daemon itself any more: take it off the list", file)
		}
	}
}

// starts says by what a call starts a daemon; "": it starts none.
func starts(call *ast.CallExpr) (by string) {
	callee := selected(call.Fun)
	if i, ok := call.Fun.(*ast.Ident); ok {
		callee = i.Name
	}
	roles := []string{"standalone", "rm", "nm", "witness", "role"}
	switch _, method, _ := strings.Cut(callee, "."); {
	case callee == "rm.New" || callee == "nm.New":
		return callee
	case slices.Contains([]string{"exec.Command", "exec.CommandContext", "run", "command"}, callee) || method == "command" || method == "run":
		if word := firstWord(call.Args); slices.Contains(roles, word) {
			return callee + " of " + word
		}
	}
	return ""
}

// firstWord returns the first text among the arguments of a call, or role where a variable of that name comes before.
func firstWord(args []ast.Expr) (word string) {
	for _, arg := range args {
		ast.Inspect(arg, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if word == "" {
					word, _ = strconv.Unquote(n.Value) // a number has none
				}
			case *ast.Ident:
				if word == "" && n.Name == "role" {
					word = n.Name
				}
			}
			return word == ""
		})
	}
	return word
}
