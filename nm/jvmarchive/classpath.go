package jvmarchive

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"heddle/nm/launch"
)

// errNotUnderstood means that a script does something to a value that isn't followed here.
var errNotUnderstood = errors.New("a value that only a shell can expand")

var variable = regexp.MustCompile(`\$(\{[A-Za-z_][A-Za-z0-9_]*\}|[A-Za-z_][A-Za-z0-9_]*)`)

// environment is what the variables of a script come to. Those that use more of the shell than $X and ${X} are left out.
type environment map[string]string

// unknown ends the names under which an environment notes variables whose value isn't known. It can't be part of a name.
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

// knows reports whether the value of a variable is certain; one that isn't set has a certain value as well.
func (env environment) knows(name string) bool {
	_, is := env[name+unknown]
	return !is
}

// expand expands what stands between double quotes.
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

// classPath is a class path in the order in which it is handed to the JVM: jars, aside, rest.
type classPath struct {
	jars    []string // absolute; what an archive is made for
	aside   []string // folders that came before the jars, and elements before or among them that aren't there
	dirs    []string // where these folders are
	rest    []string // what came behind the jars
	lasting bool     // the jars stay where they are; otherwise other applications may find them or not
}

// withCover is the class path with a jar before all others, if it isn't "".
func (cp *classPath) withCover(jar string) string {
	return strings.Join(slices.Concat(cp.prefix(jar), cp.aside, cp.rest), ":")
}

// prefix is the part of the class path that an archive is made with.
func (cp *classPath) prefix(cover string) []string {
	if cover == "" {
		return cp.jars
	}
	return append([]string{cover}, cp.jars...)
}

// folders are what it takes to find the files that a container will see.
type folders struct {
	work  string            // the work folder, in which relative paths start
	links map[string]string // what will be linked in it: target by name
	app   []string          // folders that end with the application
	user  []string          // folders of what users have, and may lose to others
}

// parse takes a class path apart.
func (f *folders) parse(path string) (classPath, error) {
	cp := classPath{lasting: true}
	var pending, pendingDirs []string // since the last jar
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
			if len(cp.jars) > 0 { // what is in it must hide later jars and be hidden by earlier ones
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

// resolve returns what an element of a class path is: a folder, a jar, or those that a wildcard means, in the order in
// which the java command takes them (its own expansion reads the folder unsorted).
func (f *folders) resolve(element string) ([]string, kind, error) {
	if element == "" {
		element = "."
	}
	if dir, ok := strings.CutSuffix(element, "*"); ok && (dir == "" || strings.HasSuffix(dir, "/")) {
		at := f.find(dir)
		if at == f.work {
			return nil, nothing, nil // jars that are linked there belong to the application, and come last
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

// find is where a path leads to once the container's links are made.
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

// linked lists the jars that will be linked in a folder below the work folder, by the order of their links' names: Spark has
// the ones that spark.yarn.jars names in __spark_libs__. They are named by where they lie, which is the same for the next container.
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

// isJar reports whether a wildcard means a file.
func isJar(name string) bool {
	return len(name) > 4 && (strings.HasSuffix(name, ".jar") || strings.HasSuffix(name, ".JAR")) && !strings.Contains(name, ":")
}

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
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var jars []string
	for _, n := range names {
		if isJar(n) {
			jars = append(jars, filepath.Join(dir, n))
		}
	}
	return jars, nil
}

// within reports whether a path lies in one of some folders, as it is written or where links lead.
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
