package cgroup

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
)

// mount is a mounted cgroup hierarchy.
type mount struct {
	root        string   // the part of the hierarchy that is mounted; "/" unless somebody confined us
	point       string   // where
	v2          bool     // the unified hierarchy
	controllers []string // v1: what is attached to it
}

// parseMounts reads /proc/self/mountinfo (proc_pid_mountinfo(5)) and returns the cgroup hierarchies.
func parseMounts(r io.Reader) ([]mount, error) {
	var out []mount
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 6 || len(g) < 3 {
			return nil, fmt.Errorf("mountinfo line %q is malformed", lines.Text())
		}
		m := mount{root: unescape(f[3]), point: unescape(f[4])}
		switch g[0] {
		case "cgroup2":
			m.v2 = true
		case "cgroup":
			m.controllers = strings.Split(g[2], ",")
		default:
			continue
		}
		out = append(out, m)
	}
	return out, lines.Err()
}

// unescape undoes mountinfo's octal escapes of blanks and backslashes.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// membership is the group of a process in each hierarchy: by v1 controller, and "" for v2.
type membership map[string]string

// parseMembership reads /proc/PID/cgroup (cgroups(7)).
func parseMembership(r io.Reader) (membership, error) {
	out := make(membership)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		f := strings.SplitN(lines.Text(), ":", 3)
		if len(f) != 3 || !strings.HasPrefix(f[2], "/") {
			return nil, fmt.Errorf("cgroup line %q is malformed", lines.Text())
		}
		for _, c := range strings.Split(f[1], ",") {
			out[c] = f[2]
		}
	}
	return out, lines.Err()
}

// find returns the mount of a v1 controller, or of v2 when controller is "". Of several it takes the one that shows
// most of the hierarchy.
func find(mounts []mount, controller string) (mount, bool) {
	var best mount
	found := false
	for _, m := range mounts {
		if m.v2 != (controller == "") || controller != "" && !slices.Contains(m.controllers, controller) {
			continue
		}
		if !found || len(m.root) < len(best.root) {
			best, found = m, true
		}
	}
	return best, found
}

// own returns the folder of a group of the hierarchy, given as in /proc/PID/cgroup. ok is false when the mount doesn't
// show it.
func (m mount) own(group string) (folder string, ok bool) {
	if m.root == "/" {
		return path.Join(m.point, group), true
	}
	if group == m.root {
		return m.point, true
	}
	rest, ok := strings.CutPrefix(group, m.root+"/")
	if !ok {
		// With a cgroup namespace the mount's root is told as seen from outside and the group as seen from inside.
		if group == "/" {
			return m.point, true
		}
		return "", false
	}
	return path.Join(m.point, rest), true
}
