package jvmarchive

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"heddle/nm/launch"
)

// errNotUnderstood says that a script changes a value in a way that this package doesn't follow.
var errNotUnderstood = errors.New("a value that only a shell can expand")

var variable = regexp.MustCompile(`\$(\{[A-Za-z_][A-Za-z0-9_]*\}|[A-Za-z_][A-Za-z0-9_]*)`)

// environment has the values of a script's variables, unless they need more of the shell than $X and ${X}.
type environment map[string]string

// unknown is the suffix of keys for variables whose value isn't known. No variable's name contains it.
const unknown = "?"

func environmentOf(s *launch.Script) environment {
	env := make(environment)
	for _, v := range append(append([]launch.Var{}, s.Inherit...), s.Env...) {
		value, err := env.expand(v.Value)
		if err != nil {
			delete(env, v.Name)
			env[v.Name+unknown] = ""
			continue
		}
		env[v.Name] = value
		delete(env, v.Name+unknown)
	}
	return env
}

// knows reports whether the value of a variable is certain. That of an unset variable is.
func (env environment) knows(name string) bool {
	_, is := env[name+unknown]
	return !is
}

// expand expands the contents of double quotes.
func (env environment) expand(value string) (string, error) {
	bad := false
	out := variable.ReplaceAllStringFunc(value, func(ref string) string {
		name := strings.Trim(ref, "${}")
		bad = bad || !env.knows(name)
		return env[name]
	})
	if bad || strings.ContainsAny(variable.ReplaceAllString(value, ""), "$`\"\\\n") {
		return "", errNotUnderstood
	}
	return out, nil
}

// classPath is a class path in the order for the JVM: jars, aside, rest.
type classPath struct {
	jars    []string // absolute; the jars of the archive
	aside   []string // folders that preceded the jars, and missing elements before or among them
	dirs    []string // places of these folders
	rest    []string // elements after the jars
	lasting bool     // the jars outlive the application, so that others can use the archive
}

// withCover returns the class path, after a jar unless that is "".
func (cp *classPath) withCover(jar string) string {
	return strings.Join(slices.Concat(cp.prefix(jar), cp.aside, cp.rest), ":")
}

// prefix returns the part of the class path that the archive depends on.
func (cp *classPath) prefix(cover string) []string {
	if cover == "" {
		return cp.jars
	}
	return append([]string{cover}, cp.jars...)
}

// folders has what is needed to find the files that a container will see.
type folders struct {
	work  string            // work folder, where relative paths start
	links map[string]string // links that it will have: target by name
	app   []string          // folders that are removed with the application
	user  []string          // folders of users' files, which the cache may evict
}

// parse splits a class path.
func (f *folders) parse(path string) (classPath, error) {
	cp := classPath{lasting: true}
	var pending, pendingDirs []string // elements since the last jar
	elements := strings.Split(path, ":")
	for i, e := range elements {
		found, kind, err := f.resolve(e)
		if err != nil {
			return cp, err
		}
		if kind == someJars {
			for _, j := range found {
				if within(j, f.app) {
					cp.rest = append(pending, elements[i:]...)
					return cp, nil
				}
				cp.lasting = cp.lasting && !within(j, f.user)
			}
			cp.jars = append(cp.jars, found...)
			cp.aside, cp.dirs = append(cp.aside, pending...), append(cp.dirs, pendingDirs...)
			pending, pendingDirs = nil, nil
			continue
		}
		if kind == folder {
			if len(cp.jars) > 0 { // its files must hide later jars, and earlier jars its files
				cp.rest = append(pending, elements[i:]...)
				return cp, nil
			}
			pendingDirs = append(pendingDirs, found[0])
		}
		pending = append(pending, e)
	}
	cp.rest = pending
	return cp, nil
}

type kind int

const (
	nothing kind = iota
	folder
	someJars
)

// resolve returns what an element of a class path stands for: a folder, a jar, or the jars of a wildcard in the java
// command's order (which lists the folder unsorted).
func (f *folders) resolve(element string) ([]string, kind, error) {
	if element == "" {
		element = "."
	}
	if dir, ok := strings.CutSuffix(element, "*"); ok && (dir == "" || strings.HasSuffix(dir, "/")) {
		at := f.find(dir)
		if at == f.work {
			return nil, nothing, nil // jars linked there belong to the application, and come last
		}
		jars, err := wildcard(at)
		if err == nil && len(jars) == 0 {
			jars, err = f.linked(at)
		}
		if err != nil || len(jars) == 0 {
			return nil, nothing, err
		}
		return jars, someJars, nil
	}
	at := f.find(element)
	if at == f.work {
		return []string{at}, folder, nil
	}
	st, err := os.Stat(at)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nothing, nil
	case err != nil:
		return nil, nothing, err
	case st.IsDir():
		return []string{at}, folder, nil
	case st.Mode().IsRegular():
		return []string{at}, someJars, nil
	}
	return nil, nothing, &os.PathError{Op: "class path", Path: at, Err: errors.New("neither a file nor a folder")}
}

// find returns where a path leads after the container's links have been made.
func (f *folders) find(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.work, path)
	}
	path = filepath.Clean(path)
	rel, below := strings.CutPrefix(path, f.work+"/")
	if !below {
		return path
	}
	for name := rel; name != "."; name = filepath.Dir(name) {
		if target, ok := f.links[name]; ok {
			return target + strings.TrimPrefix(rel, name)
		}
	}
	return path
}

// linked lists the jars that will be linked in a folder below the work folder, in the order of their links' names.
// Spark has the jars of spark.yarn.jars in __spark_libs__. The result has their real paths, which the next container
// shares.
func (f *folders) linked(dir string) ([]string, error) {
	rel, below := strings.CutPrefix(dir, f.work+"/")
	if !below {
		return nil, nil
	}
	var jars []string
	for _, name := range slices.Sorted(maps.Keys(f.links)) {
		if filepath.Dir(name) != rel || !isJar(filepath.Base(name)) {
			continue
		}
		target := f.links[name]
		switch st, err := os.Stat(target); {
		case err != nil:
			return nil, err
		case !st.Mode().IsRegular() || strings.Contains(target, ":"):
			return nil, &os.PathError{Op: "class path", Path: target, Err: errors.New("a jar is no file, or has a colon in its name")}
		}
		jars = append(jars, target)
	}
	return jars, nil
}

// isJar reports whether a wildcard includes a file.
func isJar(name string) bool {
	return len(name) > 4 && (strings.HasSuffix(name, ".jar") || strings.HasSuffix(name, ".JAR")) && !strings.Contains(name, ":")
}

// maxEntries bounds the entries of a folder of jars.
const maxEntries = 20_000

// wildcard lists the jars of a folder as the java command does.
func wildcard(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(names) > maxEntries {
		return nil, fmt.Errorf("%s has more than %d entries", dir, maxEntries)
	}
	var jars []string
	for _, n := range names {
		if isJar(n) {
			jars = append(jars, filepath.Join(dir, n))
		}
	}
	return jars, nil
}

// within reports whether a path is in one of some folders, as written or after following links.
func within(path string, folders []string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	for _, f := range folders {
		if strings.HasPrefix(path, f+"/") || strings.HasPrefix(real, f+"/") {
			return true
		}
	}
	return false
}
