// Package mounts finds the cgroup hierarchies that are mounted, and the groups of this process in them.
package mounts

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Mount is a mounted cgroup hierarchy.
type Mount struct {
	Root        string   // the part of the hierarchy that is mounted; "/" unless this process is confined
	Point       string   // where
	V2          bool     // the unified hierarchy
	Controllers []string // v1: what is attached to it
}

// ParseMounts reads /proc/self/mountinfo (proc_pid_mountinfo(5)) and returns the cgroup hierarchies.
func ParseMounts(r io.Reader) ([]Mount, error) {
	var out []Mount
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 6 || len(g) < 3 {
			return nil, fmt.Errorf("mountinfo line %q is malformed", lines.Text())
		}
		m := Mount{Root: unescape(f[3]), Point: unescape(f[4])}
		switch g[0] {
		case "cgroup2":
			m.V2 = true
		case "cgroup":
			m.Controllers = strings.Split(g[2], ",")
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

// Membership is the group of a process in each hierarchy: by v1 controller, and "" for v2.
type Membership map[string]string

// ParseMembership reads /proc/PID/cgroup (cgroups(7)).
func ParseMembership(r io.Reader) (Membership, error) {
	out := make(Membership)
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

// Find returns the mount of a v1 controller, or of v2 when controller is "". Of several it takes the one that shows
// most of the hierarchy.
func Find(mounts []Mount, controller string) (Mount, bool) {
	var best Mount
	found := false
	for _, m := range mounts {
		if m.V2 != (controller == "") || controller != "" && !slices.Contains(m.Controllers, controller) {
			continue
		}
		if !found || len(m.Root) < len(best.Root) {
			best, found = m, true
		}
	}
	return best, found
}

// Own returns the folder of a group of the hierarchy, given as in /proc/PID/cgroup. ok is false when the mount doesn't
// show it.
func (m Mount) Own(group string) (folder string, ok bool) {
	if m.Root == "/" {
		return path.Join(m.Point, group), true
	}
	if group == m.Root {
		return m.Point, true
	}
	rest, ok := strings.CutPrefix(group, m.Root+"/")
	if !ok {
		// With a cgroup namespace the mount's root is told as seen from outside and the group as seen from inside.
		if group == "/" {
			return m.Point, true
		}
		return "", false
	}
	return path.Join(m.Point, rest), true
}
