package house

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// endless are the calls that read all there is, however much that is, by package or, for methods, by name. Whoever writes what is read decides how
// much memory the reader takes: heddle/internal/bounded has the same calls with a limit.
var endless = map[string][]string{
	"os":     {"ReadFile", "ReadDir"},
	"io":     {"ReadAll"},
	"ioutil": {"ReadFile", "ReadAll", "ReadDir"},
	"fs":     {"ReadFile", "ReadDir"},
}

// endlessMethods are those of readers, files and commands. Those of listOf are endless if their argument is negative or 0.
var (
	endlessMethods = []string{"ReadString", "ReadBytes", "CombinedOutput", "Output"}
	listOf         = []string{"Readdirnames", "Readdir", "ReadDir"}
)

// guardedReads are the parts of the module that read what users write. Of internal only the packages of daemons count: the others are for tests.
var guardedReads = []string{
	"nm", "am", "hdfsadapter", "internal/bounded", "internal/claims", "internal/machine", "internal/prefetch", "internal/processors", "internal/secret",
	"internal/statedir", "internal/userfiles",
}

// endlessReads are the calls that may be there: nobody who isn't trusted writes what they read, or something else bounds it.
var endlessReads = map[string]string{
	"internal/bounded/bounded.go ReadAll":    "of a reader with a limit",
	"internal/secret/secret.go ReadAll":      "of a reader with a limit",
	"nm/jvmarchive/classes.go ReadString":    "of a reader with a limit",
	"am/mapreduce/signed/auth.go ReadAll":    "of a reader with a limit, which tells HTTP's server as well",
	"am/xargs/run.go ReadString":             "what the user answers at the terminal",
	"nm/cgroup/tree.go ReadDir":              "groups, which root makes, or whoever may run processes as root",
	"nm/gpu/gpu.go ReadDir":                  "/dev, in which root makes files",
	"nm/image/store/store_linux.go ReadDir":  "folders that only root can enter, with an entry for each layer and container",
	"nm/proc/proc_linux.go Readdirnames":     "/proc, which has at most 4 million processes (pid_max)",
	"nm/proc/proc_other.go Output":           "of ps, a line for each process",
	"nm/ramdisk/helpers_linux.go ReadString": "from a process of Heddle's own, with this process's rights",
}

// Nothing is read without a bound. A local user ended all NodeManagers of a machine with processes that had gigabytes of environment; a container
// ended its own for good with a status file of 4 TB.
func TestNothingIsReadWithoutABound(t *testing.T) {
	used := map[string]bool{}
	for name, p := range packages(t) {
		if !guards(name) {
			continue
		}
		for file, f := range p.files {
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				what, bad := readsWithoutEnd(f, call)
				if !bad {
					return true
				}
				used[file+" "+what] = true
				if endlessReads[file+" "+what] == "" {
					t.Errorf("%v: %s has no bound: use internal/bounded, or say in endlessReads why it may", sources.Position(call.Pos()), what)
				}
				return true
			})
		}
	}
	for what := range endlessReads {
		if !used[what] {
			t.Errorf("%s is allowed, and isn't there any more", what)
		}
	}
}

func guards(name string) bool {
	for _, part := range guardedReads {
		if name == part || strings.HasPrefix(name, part+"/") {
			return true
		}
	}
	return false
}

// readsWithoutEnd returns the name of the function that is called if it is one of endless.
func readsWithoutEnd(f *ast.File, call *ast.CallExpr) (what string, bad bool) {
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	what = s.Sel.Name
	if of, ok := s.X.(*ast.Ident); ok && importedAs(f, of.Name) {
		for _, name := range endless[of.Name] {
			bad = bad || name == what
		}
		return what, bad
	}
	for _, name := range endlessMethods {
		bad = bad || name == what && (len(call.Args) == 0) == strings.HasSuffix(name, "Output")
	}
	for _, name := range listOf {
		if name != what || len(call.Args) != 1 {
			continue
		}
		switch arg := call.Args[0].(type) {
		case *ast.UnaryExpr:
			bad = bad || arg.Op == token.SUB
		case *ast.BasicLit:
			bad = bad || arg.Value == "0"
		}
	}
	return what, bad
}

// importedAs reports whether a file imports a package whose path ends with a name.
func importedAs(f *ast.File, name string) bool {
	for _, i := range f.Imports {
		path := strings.Trim(i.Path.Value, `"`)
		if i.Name == nil && path[strings.LastIndex(path, "/")+1:] == name {
			return true
		}
	}
	return false
}
