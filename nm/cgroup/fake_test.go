package cgroup

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// fakeV2 behaves like a unified hierarchy with controllers, as the kernel's cgroup v2 documentation describes it.
type fakeV2 struct {
	top    string
	groups map[string]*fakeGroup
	writes []string // "path=value"
	reads  []string // paths
	deny   func(path string) error

	meminfo string
}

type fakeGroup struct {
	files   map[string]string
	subtree []string
}

func newFakeV2(top string, controllers ...string) *fakeV2 {
	f := &fakeV2{top: top, groups: make(map[string]*fakeGroup), meminfo: "MemTotal:  8192 kB\nSwapTotal:  1024 kB\nSwapFree:  1024 kB\n"}
	f.groups[top] = f.group(controllers)
	return f
}

func (f *fakeV2) group(controllers []string) *fakeGroup {
	g := &fakeGroup{files: map[string]string{
		"cgroup.controllers": strings.Join(controllers, " "),
		"cgroup.procs":       "", "cgroup.subtree_control": "", "cgroup.freeze": "0", "cgroup.kill": "",
		"cpu.stat": "usage_usec 1500000\nuser_usec 1000000\n",
	}}
	add := func(files map[string]string) {
		for k, v := range files {
			g.files[k] = v
		}
	}
	if slices.Contains(controllers, "cpu") {
		add(map[string]string{"cpu.weight": "100", "cpu.max": "max 100000"})
	}
	if slices.Contains(controllers, "memory") {
		add(map[string]string{
			"memory.max": "max", "memory.high": "max", "memory.reclaim": "", "memory.current": "5000", "memory.peak": "7000", "memory.swap.max": "max",
			"memory.stat": "anon 3000\nfile 1500\ninactive_file 1000\n", "memory.events": "low 0\noom 2\noom_kill 1\n",
		})
	}
	if slices.Contains(controllers, "pids") {
		add(map[string]string{"pids.max": "max"})
	}
	return g
}

// anon is what a group uses besides page cache.
func (g *fakeGroup) anon() (n int64) {
	fmt.Sscanf(g.files["memory.stat"], "anon %d", &n)
	return n
}

func (f *fakeV2) refused(path string) error {
	if f.deny == nil {
		return nil
	}
	return f.deny(path)
}

func (f *fakeV2) populated(path string) bool {
	for p, g := range f.groups {
		if (p == path || strings.HasPrefix(p, path+"/")) && strings.TrimSpace(g.files["cgroup.procs"]) != "" {
			return true
		}
	}
	return false
}

func (f *fakeV2) read(path string) (string, error) {
	if path == "/proc/meminfo" {
		return f.meminfo, nil
	}
	f.reads = append(f.reads, path)
	dir, file := filepath.Split(path)
	dir = filepath.Clean(dir)
	g, ok := f.groups[dir]
	if !ok {
		return "", &fs.PathError{Op: "open", Path: path, Err: syscall.ENOENT}
	}
	if file == "cgroup.events" {
		return fmt.Sprintf("populated %d\nfrozen %s\n", map[bool]int{true: 1}[f.populated(dir)], g.files["cgroup.freeze"]), nil
	}
	text, ok := g.files[file]
	if !ok {
		return "", &fs.PathError{Op: "open", Path: path, Err: syscall.ENOENT}
	}
	return text, nil
}

func (f *fakeV2) write(path, value string) error {
	dir, file := filepath.Split(path)
	dir = filepath.Clean(dir)
	g, ok := f.groups[dir]
	if ok {
		_, ok = g.files[file]
	}
	fail := func(err error) error { return &fs.PathError{Op: "write", Path: path, Err: err} }
	if !ok {
		return fail(syscall.ENOENT)
	}
	if err := f.refused(path); err != nil {
		return fail(err)
	}
	f.writes = append(f.writes, path+"="+value)
	switch file {
	case "cgroup.subtree_control":
		c := strings.TrimPrefix(value, "+")
		if !slices.Contains(strings.Fields(g.files["cgroup.controllers"]), c) {
			return fail(syscall.ENOENT)
		}
		if dir != f.top && strings.TrimSpace(g.files["cgroup.procs"]) != "" {
			return fail(syscall.EBUSY) // no internal processes
		}
		if !slices.Contains(g.subtree, c) {
			g.subtree = append(g.subtree, c)
		}
		for p, child := range f.groups {
			if filepath.Dir(p) == dir && p != dir {
				f.groups[p] = f.group(g.subtree)
				f.groups[p].files["cgroup.procs"] = child.files["cgroup.procs"]
				f.groups[p].subtree = child.subtree
			}
		}
	case "cgroup.procs":
		if len(g.subtree) > 0 && dir != f.top {
			return fail(syscall.EBUSY)
		}
		for _, other := range f.groups {
			pids := slices.DeleteFunc(strings.Fields(other.files[file]), func(p string) bool { return p == value })
			other.files[file] = strings.Join(pids, "\n")
		}
		g.files[file] = strings.TrimSpace(g.files[file] + "\n" + value)
	case "cgroup.kill":
		for p, other := range f.groups {
			if p == dir || strings.HasPrefix(p, dir+"/") {
				other.files["cgroup.procs"] = ""
			}
		}
	case "memory.reclaim": // page cache only, unless the group may swap
		want, _ := strconv.ParseInt(value, 10, 64)
		current, _ := strconv.ParseInt(g.files["memory.current"], 10, 64)
		left := max(current-want, 0)
		if g.files["memory.swap.max"] == "0" {
			left = max(left, g.anon())
		}
		g.files["memory.current"] = strconv.FormatInt(left, 10)
		if current-left < want {
			return fail(syscall.EAGAIN)
		}
	case "memory.max":
		limit, err := strconv.ParseInt(value, 10, 64)
		current, _ := strconv.ParseInt(g.files["memory.current"], 10, 64)
		if err == nil && current > limit {
			g.files["cgroup.procs"] = "" // killed, whether it could have been taken back in more time or not
		}
		g.files[file] = value
	case "cpu.max":
		var period int
		quota, rest, _ := strings.Cut(value, " ")
		period, _ = strconv.Atoi(rest)
		n, err := strconv.Atoi(quota)
		if quota != "max" && (err != nil || n < 1000) || period < 1000 || period > 1000000 {
			return fail(syscall.EINVAL)
		}
		g.files[file] = value
	default:
		g.files[file] = value
	}
	return nil
}

func (f *fakeV2) mkdir(path string) error {
	fail := func(err error) error { return &fs.PathError{Op: "mkdir", Path: path, Err: err} }
	if _, ok := f.groups[path]; ok {
		return fail(syscall.EEXIST)
	}
	parent, ok := f.groups[filepath.Dir(path)]
	if !ok {
		return fail(syscall.ENOENT)
	}
	if err := f.refused(path); err != nil {
		return fail(err)
	}
	f.groups[path] = f.group(parent.subtree)
	return nil
}

func (f *fakeV2) rmdir(path string) error {
	fail := func(err error) error { return &fs.PathError{Op: "rmdir", Path: path, Err: err} }
	if _, ok := f.groups[path]; !ok {
		return fail(syscall.ENOENT)
	}
	if subs, _ := f.subdirs(path); len(subs) > 0 || f.populated(path) {
		return fail(syscall.EBUSY)
	}
	delete(f.groups, path)
	return nil
}

func (f *fakeV2) subdirs(path string) ([]string, error) {
	if _, ok := f.groups[path]; !ok {
		return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.ENOENT}
	}
	var out []string
	for p := range f.groups {
		if filepath.Dir(p) == path && p != path {
			out = append(out, filepath.Base(p))
		}
	}
	slices.Sort(out)
	return out, nil
}
