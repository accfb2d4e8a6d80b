package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// Parent is a group of groups. Its own limits bound all of them together; as a Handler it makes groups in it. It has no processes of its own.
type Parent interface {
	Handler
	// SetLimits changes the limits of all groups together, as Group.SetLimits does for one.
	SetLimits(l Limits) error
	// Usage returns what all groups use together. Those that were removed count in CPU, Peak and OOMKills.
	Usage() (Usage, error)
}

// parent is a kernelHandler whose groups lie in a group.
type parent struct {
	*kernelHandler
	of   *kernelHandler
	name string
}

// Below makes a group that bounds other groups together, or takes over the one that an earlier life has left, with its groups. Close of the Parent
// removes it, once it is empty. It fails with errors.ErrUnsupported where the kernel doesn't bound groups together.
func (d *kernelHandler) Below(name string, l Limits) (p Parent, err error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	in := &parent{of: d, name: name}
	defer func() {
		if err != nil {
			err = fmt.Errorf("make group %s for groups: %w", name, err)
		}
	}()
	if err := d.holder.create(name); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if err := d.limiter.prepare(name); err != nil {
		return nil, err
	}
	in.kernelHandler = &kernelHandler{
		kind: d.kind, tree: d.tree, origins: d.origins, missing: d.missing, open: map[*kernelGroup]struct{}{}, made: append(d.holder.folders(name), d.limiter.limited(name)...),
	}
	if in.holder, in.limiter, err = d.within(name); err != nil {
		return nil, errors.Join(err, d.remove(name))
	}
	if err := in.SetLimits(l); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.parents = append(d.parents, name)
	return in, nil
}

// within returns the holder and the limiter of groups that lie in a group.
func (d *kernelHandler) within(name string) (holder, limiter, error) {
	switch l := d.limiter.(type) {
	case *unified:
		u, err := l.within(name)
		return u, u, err
	case *legacy:
		in, err := l.within(name)
		if err != nil {
			return nil, nil, err
		}
		switch h := d.holder.(type) {
		case *unified:
			u, err := h.within(name)
			return u, in, err
		case *freezer:
			return &freezer{tree: h.tree, top: h.path(name, "")}, in, nil
		}
	}
	return nil, nil, fmt.Errorf("groups of kind %s: %w", d.kind, errors.ErrUnsupported)
}

// within makes a group pass its controllers on to groups in it.
func (u *unified) within(name string) (*unified, error) {
	in := &unified{tree: u.tree, top: u.path(name, ""), swapping: u.swapping}
	var err error
	if in.controllers, err = enable(u.tree, in.top, "", u.controllers); err == nil && len(in.controllers) < len(u.controllers) {
		err = fmt.Errorf("%s passes on %v of the controllers %v: %w", in.top, in.controllers, u.controllers, errors.ErrUnsupported)
	}
	return in, err
}

// within has the memory of groups in a group count as its own, as kernels before Linux 5.11 don't by themselves.
func (l *legacy) within(name string) (*legacy, error) {
	in := &legacy{tree: l.tree, tops: map[string]string{}}
	for controller, top := range l.tops {
		in.tops[controller] = filepath.Join(top, name)
	}
	if !l.has("memory") {
		return in, nil
	}
	file := l.path("memory", name, "memory.use_hierarchy")
	if now, err := l.tree.read(file); errors.Is(err, fs.ErrNotExist) || err == nil && strings.TrimSpace(now) == "1" {
		return in, nil // a kernel without the file knows no other way
	}
	return in, l.tree.write(file, "1")
}

func (p *parent) SetLimits(l Limits) error {
	if err := p.of.limiter.set(p.name, l); err != nil {
		return fmt.Errorf("limit group %s: %w", p.name, err)
	}
	return nil
}

func (p *parent) Usage() (Usage, error) {
	use, err := p.of.limiter.usage(p.name)
	if err == nil {
		var pids []int
		pids, err = p.of.holder.pids(p.name)
		use.Processes = len(pids)
	}
	if err != nil {
		return use, fmt.Errorf("measure group %s: %w", p.name, err)
	}
	return use, nil
}

// isParent reports whether a group was made by Below in this life.
func (d *kernelHandler) isParent(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.parents, name)
}
