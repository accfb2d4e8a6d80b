package request

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// maxMounts bounds the mounts that a container may ask for.
const maxMounts = 256

// mounts reads the mounts that every container gets, and those that this one asks for.
func (t Terms) mounts(r *Request, env map[string]string) error {
	for _, d := range []struct {
		items []string
		write bool
		key   string
	}{{t.ROMounts, false, "default-ro-mounts"}, {t.RWMounts, true, "default-rw-mounts"}} {
		for _, item := range d.items {
			source, target, ok := strings.Cut(item, ":")
			if !ok {
				return fmt.Errorf("yarn.nodemanager.runtime.linux.%s.%s: %.200q isn't SOURCE:DESTINATION", r.Kind, d.key, item)
			}
			if err := t.add(r, source, target, d.write); err != nil {
				return fmt.Errorf("yarn.nodemanager.runtime.linux.%s.%s: %w", r.Kind, d.key, err)
			}
		}
	}
	v := of(r.Kind, "MOUNTS")
	if err := t.asked(r, env[v]); err != nil {
		return fmt.Errorf("%s: %w", v, err)
	}
	v = of(r.Kind, "LOCAL_RESOURCE_MOUNTS") // of Hadoop before 3.2
	if env[v] == "" {
		return nil
	}
	for item := range strings.SplitSeq(env[v], ",") {
		source, target, ok := strings.Cut(item, ":")
		if !ok {
			return fmt.Errorf("%s: Invalid mount : %.200s", v, item)
		}
		if err := t.add(r, source, target, false); err != nil {
			return fmt.Errorf("%s: %w", v, err)
		}
	}
	return nil
}

// asked reads SOURCE:DESTINATION[:MODE],…. Modes are ro, rw (the default), and either with how later mounts spread, which Heddle ignores: none does.
func (t Terms) asked(r *Request, list string) error {
	if list == "" {
		return nil
	}
	for item := range strings.SplitSeq(list, ",") {
		parts := strings.Split(item, ":")
		if len(parts) < 2 || len(parts) > 3 || parts[0] == "" || parts[1] == "" {
			//lint:ignore ST1005 Hadoop's words
			return fmt.Errorf("Unable to parse user supplied mount list: %.200s", item)
		}
		mode := "rw"
		if len(parts) == 3 {
			mode, _, _ = strings.Cut(parts[2], "+")
		}
		if mode != "ro" && mode != "rw" {
			//lint:ignore ST1005 Hadoop's words
			return fmt.Errorf("Invalid mount mode requested for mount: %.200s", item)
		}
		if err := t.add(r, parts[0], parts[1], mode == "rw"); err != nil {
			return err
		}
	}
	return nil
}

// add enters a mount. A source that is no absolute path is a localized resource, which is never written to.
func (t Terms) add(r *Request, source, target string, write bool) error {
	target, err := Target(strings.TrimSpace(target))
	if err != nil {
		return err
	}
	m := Mount{Source: strings.TrimSpace(source), Target: target, Write: write}
	if !path.IsAbs(m.Source) {
		m.Resource = true
		if write {
			return fmt.Errorf("%.200s is a localized resource: mount it with mode ro", m.Source)
		}
	} else {
		if slices.Contains(strings.Split(m.Source, "/"), "..") {
			return fmt.Errorf("mount of %.200q: want a path with no .. in it", m.Source)
		}
		m.Source = path.Clean(m.Source)
	}
	if slices.ContainsFunc(r.Mounts, func(o Mount) bool { return o.Target == m.Target }) {
		return fmt.Errorf("two mounts at %.200s", m.Target)
	}
	if len(r.Mounts) == maxMounts {
		return fmt.Errorf("more than %d mounts", maxMounts)
	}
	r.Mounts = append(r.Mounts, m)
	return nil
}

// Allowed reports whether a folder or file with this path, in which no link is left, may be mounted: it is in the list of
// container-executor.cfg, or below a path there. What may be written to may be read. resolve returns a path without links.
func (t Terms) Allowed(real string, write bool, resolve func(string) (string, error)) bool {
	lists := t.Section.list("allowed.rw-mounts")
	if !write {
		lists = append(lists, t.Section.list("allowed.ro-mounts")...)
	}
	return slices.ContainsFunc(lists, func(a string) bool {
		a, err := resolve(path.Clean(a))
		return err == nil && path.IsAbs(a) && (real == a || a == "/" || strings.HasPrefix(real, a+"/"))
	})
}

// tmpfs reads where the container gets empty folders in memory.
func (t Terms) tmpfs(r *Request, env map[string]string) error {
	list := slices.Clone(t.Tmpfs)
	if asked := env[of(r.Kind, "TMPFS_MOUNTS")]; asked != "" {
		list = append(list, strings.Split(asked, ",")...)
	}
	for _, item := range list {
		target, err := Target(strings.TrimSpace(item))
		if err != nil {
			return fmt.Errorf("tmpfs: %w", err)
		}
		if len(r.Tmpfs) == maxMounts {
			return fmt.Errorf("more than %d tmpfs mounts", maxMounts)
		}
		r.Tmpfs = append(r.Tmpfs, target)
	}
	return nil
}
