package cgroup

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"heddle/nm/cgroup/mounts"
	"heddle/nm/cgroup/origins"
)

// site is the machine as a handler finds it.
type site struct {
	tree   tree
	mounts []mounts.Mount
	own    mounts.Membership
	root   string
	id     string

	missing []string
	made    []string
}

func (s *site) lacks(format string, args ...any) {
	s.missing = append(s.missing, fmt.Sprintf(format, args...))
}

// limited controllers, and what a machine without them can't do.
var limited = []struct{ controller, loss string }{
	{"cpu", "containers get no share of the CPU of their own, nor a limit"},
	{"memory", "a container's memory is only looked at now and then, and can't be taken back while it is suspended"},
	{"pids", "the number of a container's processes has no limit"},
}

// holder returns what makes groups: the unified hierarchy, or else the freezer of version 1. limited says that version 1 has controllers of limits.
func (s *site) holder(kind Kind, v2 *unified, limited bool) (holder, error) {
	if m, ok := mounts.Find(s.mounts, ""); ok && kind != V1 {
		wanted := []string{"cpu", "memory", "pids"}
		if limited {
			wanted = nil
		}
		err := s.placeV2(v2, m, wanted)
		if err == nil {
			return v2, nil
		}
		if kind == V2 || kind == Hybrid {
			return nil, err
		}
		s.lacks("unified hierarchy: %v", err)
	}
	if kind == V2 || kind == Hybrid {
		return nil, errors.New("no unified hierarchy is mounted")
	}
	m, ok := mounts.Find(s.mounts, "freezer")
	if !ok {
		return nil, errors.New("neither a unified hierarchy nor a v1 freezer is mounted")
	}
	top, _, err := s.place(m, "freezer")
	return &freezer{tree: s.tree, top: top}, err
}

func (s *site) handler(kind Kind) (*kernelHandler, error) {
	legacyTops := make(map[string]string)
	if kind != V2 {
		for _, c := range append([]string{"cpuacct"}, "cpu", "memory", "pids") {
			if m, ok := mounts.Find(s.mounts, c); ok {
				top, _, err := s.place(m, c)
				if err != nil {
					s.lacks("controller %s: %v", c, err)
					continue
				}
				legacyTops[c] = top
			}
		}
	}

	d := &kernelHandler{tree: s.tree, origins: origins.New(Marker), open: make(map[*kernelGroup]struct{})}
	v2 := &unified{tree: s.tree}
	var err error
	if d.holder, err = s.holder(kind, v2, len(legacyTops) > 0); err != nil {
		return nil, err
	}
	onV2 := d.holder == holder(v2)
	switch {
	case len(legacyTops) > 0 && onV2:
		d.kind, d.limiter = Hybrid, &legacy{tree: s.tree, tops: legacyTops}
	case len(legacyTops) > 0 || !onV2:
		d.kind, d.limiter = V1, &legacy{tree: s.tree, tops: legacyTops}
	default:
		d.kind, d.limiter = V2, v2
	}
	if kind == Hybrid && d.kind != Hybrid {
		return nil, errors.New("no v1 controller can be used")
	}
	for _, l := range limited {
		if _, ok := legacyTops[l.controller]; !ok && !v2.has(l.controller) {
			s.lacks("no controller %s: %s", l.controller, l.loss)
		}
	}
	d.missing, d.made = s.missing, s.made
	return d, nil
}

// bases returns the folders of a hierarchy in which a NodeManager may have its own, the better first.
func (s *site) bases(m mounts.Mount, controller string) []string {
	root := s.root
	if root == "" {
		root = "heddle"
	}
	var out []string
	if strings.HasPrefix(root, "/") || s.root == "" {
		out = append(out, filepath.Join(m.Point, root))
	}
	if !strings.HasPrefix(root, "/") {
		if own, ok := s.given(m, controller); ok {
			out = append(out, filepath.Join(own, root))
		}
	}
	return out
}

// given returns the group that this process was given in a hierarchy. It may have moved down from there (see enable and sit).
func (s *site) given(m mounts.Mount, controller string) (folder string, ok bool) {
	own, ok := m.Own(s.own[controller])
	root := cmp.Or(strings.TrimPrefix(s.root, "/"), "heddle")
	return strings.TrimSuffix(strings.TrimSuffix(own, "/"+filepath.Join(root, seat)), "/"+leaf), ok
}

// first has this process get the CPU before all groups do.
func (s *site) first(d *kernelHandler) {
	controller := "cpu"
	if d.kind == V2 {
		controller = ""
	}
	_, own, err := mounts.Look() // it may have moved down
	if err == nil {
		m, _ := mounts.Find(s.mounts, controller)
		from, ok := m.Own(own[controller])
		if !ok {
			return
		}
		err = d.sit(os.Getpid(), from)
	}
	if err != nil {
		d.missing = append(d.missing, fmt.Sprintf("the NodeManager doesn't get the CPU before its containers do: %v", err))
	}
}

// place makes the folder for groups in a hierarchy and tries it out with a group. It returns the folder and the base
// it lies in.
func (s *site) place(m mounts.Mount, controller string) (top, base string, err error) {
	err = fmt.Errorf("%s shows no group of this process", m.Point)
	for _, base = range s.bases(m, controller) {
		top = folder(base, s.id)
		if err = s.try(m, top); err == nil {
			s.remember(m, top)
			return top, base, nil
		}
	}
	return "", "", err
}

func (s *site) try(m mounts.Mount, top string) error {
	if err := again(func() error { return mkdirAll(s.tree, m.Point, top) }); err != nil {
		return err
	}
	probe := filepath.Join(top, "probe")
	if err := s.tree.mkdir(probe); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return s.tree.rmdir(probe)
}

// again calls f until what it makes and needs is there. Another NodeManager that ends takes away what is empty, and that may be just what was made.
func again(f func() error) (err error) {
	err = fs.ErrNotExist
	for tries := 0; errors.Is(err, fs.ErrNotExist) && tries < 100; tries++ {
		err = f()
	}
	return err
}

// remember notes the folders between mount point and groups for removal, deepest first.
func (s *site) remember(m mounts.Mount, top string) {
	for f := top; f != m.Point && len(f) > len(m.Point); f = filepath.Dir(f) {
		if !slices.Contains(s.made, f) {
			s.made = append(s.made, f)
		}
	}
	slices.SortFunc(s.made, func(a, b string) int { return len(b) - len(a) })
}

func (s *site) placeV2(v2 *unified, m mounts.Mount, wanted []string) error {
	top, _, err := s.place(m, "")
	if err != nil {
		return err
	}
	v2.top = top
	own, _ := s.given(m, "")
	// Every group on the way down must pass the controllers on.
	var way []string
	for f := top; len(f) >= len(m.Point); f = filepath.Dir(f) {
		way = append(way, f)
		if f == own || f == m.Point {
			break
		}
	}
	slices.Reverse(way)
	for _, f := range way {
		if wanted, err = enable(s.tree, f, own, wanted); err != nil {
			s.lacks("unified hierarchy: %v", err)
		}
	}
	v2.controllers = wanted
	probe := filepath.Join(top, "probe")
	if err := s.tree.mkdir(probe); err != nil {
		return err
	}
	defer s.tree.rmdir(probe)
	if _, err := s.tree.read(filepath.Join(probe, "cgroup.freeze")); err != nil {
		return fmt.Errorf("the kernel can't freeze v2 groups (Linux 5.2 can): %w", err)
	}
	_, err = s.tree.read(filepath.Join(probe, "memory.swap.max"))
	v2.swapping = err == nil
	return nil
}
