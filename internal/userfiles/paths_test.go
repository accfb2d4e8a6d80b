//go:build unix

package userfiles

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// guarded are the packages that handle users' folders, or serve what lies in folders. Those below nm are all but the exempt.
var guarded = []string{"rm/rest", "yarn/rest/daemon"}

// exempt are the packages below nm that have nothing to do with users' folders.
var exempt = map[string]string{
	"nm/proc":           "files of /proc",
	"nm/cgroup":         "files of cgroups, /proc and /sys",
	"nm/cgroup/mounts":  "files of /proc",
	"nm/cgroup/origins": "files of /proc",
	"nm/gpu":            "devices",
	"nm/disks":          "the local and log folders themselves, which are the NodeManager's",
	"nm/health":         "the administrator's scripts",
	"nm/runas":          "the administrator's container-executor.cfg",
	"nm/store":          "the NodeManager's state",
	"nm/image/docker":   "the NodeManager's store of layers, which only root can enter",
	"nm/image/oci":      "the administrator's images",
	"nm/image/registry": "the NodeManager's notes of images, which only root can enter",
	"nm/image/store":    "the NodeManager's store of layers, which only root can enter",
	"nm/nmtest":         "for tests",
}

// byPath are the functions that take a path, by package.
var byPath = map[string][]string{
	"os": {
		"Chdir", "Chmod", "Chown", "Chtimes", "CopyFS", "Create", "CreateTemp", "DirFS", "Lchown", "Link", "Lstat", "Mkdir", "MkdirAll", "MkdirTemp", "Open",
		"OpenFile", "OpenInRoot", "OpenRoot", "ReadDir", "ReadFile", "Readlink", "Remove", "RemoveAll", "Rename", "Stat", "Symlink", "Truncate", "WriteFile",
	},
	"filepath": {"EvalSymlinks", "Glob", "Walk", "WalkDir"},
	"bounded":  {"Names", "Open", "ReadFile", "ReadHead"},
	"unix":     inKernel,
	"syscall":  inKernel,
}

var inKernel = []string{
	"Access", "Chdir", "Chmod", "Chown", "Creat", "Getxattr", "Lchown", "Link", "Lstat", "Mkdir", "Mkfifo", "Mknod", "Mount", "Open", "Openat", "Readlink", "Removexattr",
	"Rename", "Rmdir", "Setxattr", "Stat", "Statfs", "Symlink", "Truncate", "Unlink", "Utime", "Utimes",
}

// allowed are calls that lead to no user's folder, or have no more rights there than the user, each with its reason.
var allowed = map[string]string{
	"nm/auxservices/manifest.go bounded.ReadFile":           "the administrator's manifest, for conf check",
	"nm/image/bundle/bundle_linux.go bounded.ReadFile":      "the container's private folder, in which nobody but the NodeManager may write",
	"nm/image/bundle/bundle_linux.go os.Mkdir":              "the container's private folder, in which nobody but the NodeManager may write",
	"nm/image/bundle/bundle_linux.go os.RemoveAll":          "the container's private folder, in which nobody but the NodeManager may write",
	"nm/image/bundle/bundle_linux.go os.Symlink":            "the container's private folder, in which nobody but the NodeManager may write",
	"nm/image/bundle/bundle_linux.go os.WriteFile":          "the container's private folder, in which nobody but the NodeManager may write",
	"nm/image/bundle/bundle_linux.go unix.Chdir":            "the container's private folder, in which nobody but the NodeManager may write",
	"nm/image/bundle/bundle_linux.go unix.Mount":            "the container's private folder, in which nobody but the NodeManager may write",
	"nm/image/bundle/bundle_linux.go filepath.EvalSymlinks": "finds where a mount's links lead, which is judged and then opened without following any",
	"nm/image/bundle/bundle_linux.go os.Stat":               "devices",
	"nm/image/bundle/bundle_linux.go unix.Open":             "a local folder, the root or the container's own, from where openat2 follows no link",
	"nm/image/bundle/bundle_linux.go unix.Statfs":           "cgroups",
	"nm/image/layer/layer_linux.go os.OpenRoot":             "a new folder in the store of layers",
	"nm/image/run_linux.go os.OpenFile":                     "of the user's log folder, called with the user's rights",
	"nm/image/settings/registries.go bounded.ReadFile":      "the administrator's logins and certificates",
	"nm/image/settings/registries.go os.Stat":               "the administrator's logins",
	"nm/image/settings/settings.go bounded.ReadFile":        "the administrator's seccomp profile",
	"nm/jvmarchive/classpath.go os.Stat":                    "of the user's class path, called with the user's rights",
	"nm/jvmarchive/classpath.go os.Open":                    "of the user's class path, called with the user's rights",
	"nm/jvmarchive/classpath.go filepath.EvalSymlinks":      "of the user's class path, called with the user's rights",
	"nm/jvmarchive/cover.go os.Stat":                        "of the user's class path, called with the user's rights",
	"nm/jvmarchive/cover.go filepath.EvalSymlinks":          "of the user's class path, called with the user's rights",
	"nm/jvmarchive/cover.go filepath.WalkDir":               "of the user's class path, called with the user's rights",
	"nm/jvmarchive/store.go os.Stat":                        "of the user's Java and jars, called with the user's rights",
	"nm/jvmarchive/store.go filepath.EvalSymlinks":          "of the user's Java, called with the user's rights",
	"nm/jvmarchive/store.go os.MkdirAll":                    "the store's own folder",
	"nm/jvmarchive/store.go os.Chmod":                       "the store's own folder",
	"nm/launch/session.go os.Stat":                          "whether the work folder is there; the process enters it with the user's rights",
	"nm/launch/session.go os.OpenFile":                      "the NodeManager's private files",
	"nm/launch/session.go bounded.ReadHead":                 "the NodeManager's private files",
	"nm/launch/shell_linux.go bounded.ReadFile":             "/bin/bash",
	"nm/launch/session.go bounded.Open":                     "the NodeManager's private files",
	"nm/monitor/monitor.go bounded.ReadFile":                "files of /proc",
	"nm/program/program.go os.Stat":                         "the NodeManager's own program",
	"nm/ramdisk/disk_linux.go os.Stat":                      "the RAM disk's own folder, in which nobody but the NodeManager may write",
	"nm/ramdisk/disk_linux.go os.Mkdir":                     "the RAM disk's own folder, in which nobody but the NodeManager may write",
	"nm/ramdisk/disk_linux.go os.Chmod":                     "the RAM disk's own folder, in which nobody but the NodeManager may write",
	"nm/ramdisk/disk_linux.go unix.Mount":                   "the RAM disk's own folder, in which nobody but the NodeManager may write",
	"nm/ramdisk/disk_linux.go unix.Statfs":                  "the RAM disk's own folder, in which nobody but the NodeManager may write",
	"nm/ramdisk/disk_linux.go os.Remove":                    "the RAM disk's own folder, in which nobody but the NodeManager may write",
	"nm/ramdisk/disk_linux.go os.Lchown":                    "the RAM disk's own folder, in which nobody but the NodeManager may write",
	"nm/ramdisk/helper.go os.OpenFile":                      "the RAM disk's own folder, in which nobody but the NodeManager may write",
	"nm/ramdisk/helper.go os.Remove":                        "the RAM disk's own folder, in which nobody but the NodeManager may write",
	"nm/sockets/sockets_linux.go os.Open":                   "files of /proc",
	"nm/sockets/sockets_linux.go os.Readlink":               "files of /proc",
	"nm/suspend/pressure.go bounded.ReadFile":               "files of /proc",
	"yarn/rest/daemon/process.go os.ReadDir":                "files of /proc",
	"yarn/rest/daemon/process.go os.ReadFile":               "files of /proc",
}

// Where users own folders nothing is reached by its path: it leads elsewhere a moment later. Use Dir, or As.
func TestNothingIsReachedByItsPathWhereUsersOwnFolders(t *testing.T) {
	root := filepath.Join("..", "..")
	used := map[string]bool{}
	for _, pkg := range append(below(t, root, "nm"), guarded...) {
		files, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pkg, files, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			tree, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			names := imported(tree)
			ast.Inspect(tree, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if of, ok := s.X.(*ast.Ident); ok && slices.Contains(byPath[names[of.Name]], s.Sel.Name) {
					call := pkg + "/" + filepath.Base(file) + " " + names[of.Name] + "." + s.Sel.Name
					used[call] = true
					if allowed[call] == "" {
						t.Errorf("%s: %s.%s goes by a path: use userfiles, or say in allowed why it may", fset.Position(s.Pos()), of.Name, s.Sel.Name)
					}
				}
				return true
			})
		}
	}
	for call := range allowed {
		if !used[call] {
			t.Errorf("%s is allowed, and isn't there any more", call)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Error(err)
	}
}

// below returns the packages with Go files below a folder, but for the exempt.
func below(t *testing.T, root, folder string) (out []string) {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, _ os.DirEntry, err error) error {
		if pkg, rerr := filepath.Rel(root, filepath.Dir(path)); rerr == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			found[filepath.ToSlash(pkg)] = true
		}
		return err
	})
	if err != nil || !found["nm/container"] {
		t.Fatalf("%d packages, %v", len(found), err)
	}
	for pkg := range exempt {
		if !found[pkg] {
			t.Errorf("%s is exempt, and isn't there any more", pkg)
		}
		delete(found, pkg)
	}
	for pkg := range found {
		out = append(out, pkg)
	}
	return out
}

// imported returns the packages that a file imports, the last elements of their paths, by the names that it knows them by.
func imported(f *ast.File) map[string]string {
	names := map[string]string{}
	for _, i := range f.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}
		last := path[strings.LastIndex(path, "/")+1:]
		if names[last] = last; i.Name != nil {
			delete(names, last)
			names[i.Name.Name] = last
		}
	}
	return names
}
