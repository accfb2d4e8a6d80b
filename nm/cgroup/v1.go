package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// legacy limits groups by v1 controllers, each of which has a hierarchy of its own (or shares one, as cpu,cpuacct does
// on many distributions).
type legacy struct {
	tree tree
	tops map[string]string // by controller: the folder that holds the groups
}

var _ limiter = (*legacy)(nil)

func (l *legacy) path(controller, name, file string) string {
	return filepath.Join(l.tops[controller], name, file)
}

func (l *legacy) has(controller string) bool { return l.tops[controller] != "" }

// limited returns a group's folders, each once.
func (l *legacy) limited(name string) []string {
	var out []string
	for _, top := range l.tops {
		out = append(out, filepath.Join(top, name))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (l *legacy) prepare(name string) error {
	for _, folder := range l.limited(name) {
		if err := l.tree.mkdir(folder); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

func (l *legacy) admit(name string, pid int) error {
	for _, folder := range l.limited(name) {
		if err := addPid(l.tree, folder, pid); err != nil {
			return err
		}
	}
	return nil
}

func (l *legacy) set(name string, to Limits) error {
	if l.has("cpu") {
		if err := l.tree.write(l.path("cpu", name, "cpu.shares"), strconv.FormatInt(sharesV1(to.Shares), 10)); err != nil {
			return err
		}
		if err := l.setCPU(name, to.CPU); err != nil {
			return err
		}
	}
	if l.has("memory") {
		if err := l.setMemory(name, to); err != nil {
			return err
		}
	}
	if l.has("pids") {
		return l.tree.write(l.path("pids", name, "pids.max"), maxOr(to.Pids))
	}
	return nil
}

// setMemory bounds memory. v1 has one limit: where a group is to page out rather than end (Limits.High), that is the limit, and no
// process is killed at it; Limits.Memory bounds memory and swap together then. Kernels may lack or refuse files that the swap concerns.
func (l *legacy) setMemory(name string, to Limits) error {
	file := func(file string) string { return l.path("memory", name, file) }
	if name == "" { // all groups together
		return l.tree.write(file("memory.limit_in_bytes"), minusOr(to.Memory))
	}
	if to.Swap > 0 {
		_ = l.tree.write(file("memory.swappiness"), "100")
	} else if to.Memory > 0 {
		// As in v2: a group that outgrows its limit is to end, not to swap.
		_ = l.tree.write(file("memory.swappiness"), "0")
	}
	_ = l.tree.write(file("memory.memsw.limit_in_bytes"), "-1") // it must never be less than the limit
	oom := file("memory.oom_control")
	if to.High <= 0 {
		if err := l.tree.write(file("memory.limit_in_bytes"), minusOr(to.Memory)); err != nil {
			return err
		}
		if spared, err := keyed(l.tree, oom, "oom_kill_disable"); err == nil && spared != 0 {
			return l.tree.write(oom, "0")
		}
		return nil
	}
	if err := l.tree.write(oom, "1"); err != nil {
		return err
	}
	if err := l.tree.write(file("memory.limit_in_bytes"), minusOr(to.High)); err != nil {
		return err
	}
	if to.Memory > to.High {
		_ = l.tree.write(file("memory.memsw.limit_in_bytes"), minusOr(to.Memory))
	}
	return nil
}

func (l *legacy) swaps() bool { return l.has("memory") }

func (l *legacy) memory(name string) (m Memory, err error) {
	if !l.has("memory") {
		return Memory{-1, -1, -1}, nil
	}
	stat := l.path("memory", name, "memory.stat")
	text, err := l.tree.read(stat)
	if err == nil {
		m.Anon, err = inText(stat, text, "total_rss")
	}
	if err == nil {
		m.File, err = inText(stat, text, "total_cache")
	}
	if err != nil {
		return m, err
	}
	if m.Swapped, err = inText(stat, text, "total_swap"); err != nil { // a kernel without swap accounting
		m.Swapped = -1
	}
	return m, nil
}

// reclaim lowers the limit step by step and puts it back. No process is killed meanwhile: those that need more wait. A NodeManager that
// dies in between leaves the limit where it is, until its next life sets the group's limits.
func (l *legacy) reclaim(ctx context.Context, name string, bytes int64) error {
	if !l.has("memory") {
		return fmt.Errorf("no controller memory: %w", errors.ErrUnsupported)
	}
	limit, oom := l.path("memory", name, "memory.limit_in_bytes"), l.path("memory", name, "memory.oom_control")
	before, err := number(l.tree, limit)
	if err != nil {
		return err
	}
	disabled, err := keyed(l.tree, oom, "oom_kill_disable")
	if err != nil {
		return err
	}
	if err := l.tree.write(oom, "1"); err != nil {
		return err
	}
	use := func() (int64, error) { return number(l.tree, l.path("memory", name, "memory.usage_in_bytes")) }
	err = reclaim(ctx, bytes, use, func(to int64) error {
		err := l.tree.write(limit, strconv.FormatInt(to, 10))
		if errors.Is(err, syscall.EBUSY) { // it took less
			return nil
		}
		return err
	})
	return errors.Join(err, l.tree.write(limit, strconv.FormatInt(before, 10)), l.tree.write(oom, strconv.FormatInt(disabled, 10)))
}

// setCPU writes quota and period. The kernel checks their ratio at every write, so the quota is lifted in between.
func (l *legacy) setCPU(name string, cores float64) error {
	file := l.path("cpu", name, "cpu.cfs_quota_us")
	q, period := quota(cores)
	now, err := number(l.tree, file)
	if q == 0 && (errors.Is(err, fs.ErrNotExist) || err == nil && now < 0) {
		return nil // there is no limit, or a kernel without CFS bandwidth control
	}
	if err != nil {
		return err
	}
	if err := l.tree.write(file, "-1"); err != nil || q == 0 {
		return err
	}
	if err := l.tree.write(l.path("cpu", name, "cpu.cfs_period_us"), strconv.FormatInt(period, 10)); err != nil {
		return err
	}
	return l.tree.write(file, strconv.FormatInt(q, 10))
}

func (l *legacy) usage(name string) (Usage, error) {
	use := Usage{CPU: -1, Memory: -1, Peak: -1, OOMKills: -1, Starved: -1}
	if l.has("cpuacct") {
		ns, err := number(l.tree, l.path("cpuacct", name, "cpuacct.usage"))
		if err != nil {
			return use, err
		}
		use.CPU = time.Duration(ns)
	}
	if !l.has("memory") {
		return use, nil
	}
	current, err := number(l.tree, l.path("memory", name, "memory.usage_in_bytes"))
	if err != nil {
		return use, err
	}
	idle, err := keyed(l.tree, l.path("memory", name, "memory.stat"), "total_inactive_file")
	if err != nil {
		return use, err
	}
	use.Memory = max(0, current-idle)
	if use.Peak, err = number(l.tree, l.path("memory", name, "memory.max_usage_in_bytes")); err != nil {
		return use, err
	}
	// The counter came with Linux 4.13.
	if use.OOMKills, err = keyed(l.tree, l.path("memory", name, "memory.oom_control"), "oom_kill"); err != nil {
		use.OOMKills = -1
	}
	return use, nil
}

func (l *legacy) measure(name string) (use Usage, stat string, err error) {
	use, err = l.usage(name)
	stat, _ = l.tree.read(l.path("cpu", name, "cpu.stat")) // without a controller there is no limit
	return use, stat, err
}

func (l *legacy) weight(vcores float64) (top, file, initial, value string) {
	return l.tops["cpu"], "cpu.shares", "1024", strconv.FormatInt(sharesV1(vcores), 10)
}

func (l *legacy) capable(c *Capabilities) {
	c.Shares, c.CPULimit = l.has("cpu"), l.has("cpu")
	c.MemoryLimit, c.OOMEvents = l.has("memory"), l.has("memory")
	c.PidsLimit = l.has("pids")
}

func (*legacy) close() {}

// freezer holds groups by the v1 controller of that name.
type freezer struct {
	tree tree
	top  string
}

var _ holder = (*freezer)(nil)

func (f *freezer) path(name, file string) string   { return filepath.Join(f.top, name, file) }
func (f *freezer) create(name string) error        { return f.tree.mkdir(f.path(name, "")) }
func (f *freezer) add(name string, pid int) error  { return addPid(f.tree, f.path(name, ""), pid) }
func (f *freezer) pids(name string) ([]int, error) { return pidsBelow(f.tree, f.path(name, "")) }
func (f *freezer) list() ([]string, error)         { return f.tree.subdirs(f.top) }
func (f *freezer) folders(name string) []string    { return []string{f.path(name, "")} }

func (f *freezer) state(name string) (string, error) {
	s, err := f.tree.read(f.path(name, "freezer.state"))
	return strings.TrimSpace(s), err
}

func (f *freezer) frozen(name string) (bool, error) {
	s, err := f.state(name)
	return s == "FROZEN", err
}

func (f *freezer) toldToFreeze(name string) (bool, error) {
	s, err := f.state(name)
	return s == "FROZEN" || s == "FREEZING", err
}

func (f *freezer) freeze(ctx context.Context, name string) error {
	if err := f.tree.write(f.path(name, "freezer.state"), "FROZEN"); err != nil {
		return err
	}
	if err := stand(ctx, f, name); err != nil {
		return errors.Join(err, f.tree.write(f.path(name, "freezer.state"), "THAWED"))
	}
	return nil
}

func (f *freezer) thaw(ctx context.Context, name string) error {
	if err := f.tree.write(f.path(name, "freezer.state"), "THAWED"); err != nil {
		return err
	}
	return poll(ctx, func() (bool, error) {
		s, err := f.state(name)
		return s == "THAWED", err
	})
}

func (f *freezer) kill(ctx context.Context, name string) error {
	return killFrozen(ctx, ending{f}, name)
}

// ending thaws groups with all below them, which their processes may have made and frozen: frozen processes can't end.
type ending struct{ *freezer }

func (f ending) thaw(ctx context.Context, name string) error {
	err := walk(f.tree, f.path(name, ""), func(folder string) error {
		return f.tree.write(filepath.Join(folder, "freezer.state"), "THAWED")
	})
	return errors.Join(err, f.freezer.thaw(ctx, name))
}

func addPid(t tree, folder string, pid int) error {
	if err := t.write(filepath.Join(folder, "cgroup.procs"), strconv.Itoa(pid)); err != nil {
		return fmt.Errorf("put process %d into %s: %w", pid, folder, err)
	}
	return nil
}
