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

// unified is the v2 hierarchy. It always holds groups (freeze and kill are not controllers); it also limits them where
// controllers are enabled for it.
type unified struct {
	tree        tree
	top         string   // folder that holds the groups
	controllers []string // enabled for the groups: cpu, memory, pids
	swapping    bool     // the kernel counts what groups have paged out
	events      watching
}

var (
	_ holder  = (*unified)(nil)
	_ limiter = (*unified)(nil)
)

func (u *unified) path(name, file string) string { return filepath.Join(u.top, name, file) }
func (u *unified) has(controller string) bool    { return slices.Contains(u.controllers, controller) }

func (u *unified) create(name string) error        { return u.tree.mkdir(u.path(name, "")) }
func (u *unified) add(name string, pid int) error  { return addPid(u.tree, u.path(name, ""), pid) }
func (u *unified) pids(name string) ([]int, error) { return pidsBelow(u.tree, u.path(name, "")) }
func (u *unified) list() ([]string, error)         { return u.tree.subdirs(u.top) }
func (u *unified) folders(name string) []string    { return []string{u.path(name, "")} }
func (u *unified) event(name, key string) (bool, error) {
	n, err := keyed(u.tree, u.path(name, "cgroup.events"), key)
	return n == 1, err
}

func (u *unified) frozen(name string) (bool, error) { return u.event(name, "frozen") }

// toldToFreeze reads what was asked for: cgroup.freeze doesn't say what came of it, as cgroup.events does.
func (u *unified) toldToFreeze(name string) (bool, error) {
	s, err := u.tree.read(u.path(name, "cgroup.freeze"))
	return strings.TrimSpace(s) == "1", err
}

func (u *unified) freeze(ctx context.Context, name string) error {
	if err := u.tree.write(u.path(name, "cgroup.freeze"), "1"); err != nil {
		return err
	}
	err := stand(ctx, u, name)
	if err != nil {
		return errors.Join(err, u.tree.write(u.path(name, "cgroup.freeze"), "0"))
	}
	return nil
}

func (u *unified) thaw(ctx context.Context, name string) error {
	if err := u.tree.write(u.path(name, "cgroup.freeze"), "0"); err != nil {
		return err
	}
	return poll(ctx, func() (bool, error) {
		frozen, err := u.frozen(name)
		return !frozen, err
	})
}

// kill needs no thawing before; it reaches groups below and processes that are just being forked.
func (u *unified) kill(ctx context.Context, name string) error {
	err := u.tree.write(u.path(name, "cgroup.kill"), "1")
	if errors.Is(err, fs.ErrNotExist) { // before Linux 5.14
		return killFrozen(ctx, u, name)
	}
	if err != nil {
		return err
	}
	return poll(ctx, func() (bool, error) {
		populated, err := u.event(name, "populated")
		return !populated, err
	})
}

func (u *unified) close() { u.events.close() }

// The holder's group is the limited one: there is nothing to make, fill or remove besides.
func (u *unified) prepare(string) error         { return nil }
func (u *unified) admit(string, int) error      { return nil }
func (u *unified) limited(name string) []string { return nil }

func (u *unified) set(name string, l Limits) error {
	for _, s := range []struct{ controller, file, value string }{
		{"cpu", "cpu.weight", strconv.FormatInt(weightV2(l.Shares), 10)},
		{"cpu", "cpu.max", cpuMaxV2(l.CPU)},
		{"memory", "memory.max", maxOr(l.Memory)},
		{"pids", "pids.max", maxOr(l.Pids)},
	} {
		if !u.has(s.controller) {
			continue
		}
		if s.file == "memory.max" {
			if err := u.makeRoom(name, l.Memory); err != nil {
				return err
			}
		}
		if err := u.tree.write(u.path(name, s.file), s.value); err != nil {
			return err
		}
	}
	if !u.has("memory") {
		return nil
	}
	if l.Memory > 0 || l.Swap > 0 {
		// A container's memory is memory: without this one that outgrows its limit would swap instead of ending.
		// The kernel may have no swap accounting; then there is nothing to turn off.
		err := u.tree.write(u.path(name, "memory.swap.max"), strconv.FormatInt(l.Swap, 10))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return u.squeeze(name, l.High)
}

func (u *unified) setCPU(name string, cores float64) error {
	return u.tree.write(u.path(name, "cpu.max"), cpuMaxV2(cores))
}

// roomPatience is how often the kernel is asked to take back memory that a group uses beyond a limit it is to get.
const roomPatience = 8

// makeRoom sees to it that a group can get a memory limit: a v2 kernel kills when one is set below what is in use and can't
// be taken back, where v1 refuses. memory.high keeps the group from growing meanwhile. The error is EBUSY, as v1's.
func (u *unified) makeRoom(name string, limit int64) error {
	if limit <= 0 || name == "" {
		return nil
	}
	used, err := number(u.tree, u.path(name, "memory.current"))
	if err != nil || used <= limit {
		return err
	}
	was, err := number(u.tree, u.path(name, "memory.max"))
	if err != nil || was >= 0 && was <= limit {
		return err // it is no lower than it was
	}
	refusal := func(least int64) error {
		return fmt.Errorf("a memory limit of %d bytes is less than the %d in use that can't be taken back: %w", limit, least, syscall.EBUSY)
	}
	if anon, err := keyed(u.tree, u.path(name, "memory.stat"), "anon"); err == nil && anon > limit {
		return refusal(anon) // a running container's memory isn't swapped, so that there is no use in trying
	}
	if err := u.tree.write(u.path(name, "memory.high"), strconv.FormatInt(limit, 10)); err != nil {
		return err
	}
	for range roomPatience {
		if used, err = number(u.tree, u.path(name, "memory.current")); err != nil || used <= limit {
			return err
		}
		// Linux 5.19 has the file. It says EAGAIN when it could take back less; older kernels do what they can for memory.high.
		_ = u.tree.write(u.path(name, "memory.reclaim"), strconv.FormatInt(used-limit, 10))
	}
	if used, err = number(u.tree, u.path(name, "memory.current")); err != nil || used <= limit {
		return err
	}
	return errors.Join(refusal(used), u.squeeze(name, 0))
}

// squeeze has the group's memory paged out from so many bytes on. With 0 it lifts what was set, also by makeRoom, in this life of the
// NodeManager or an earlier one: it would slow a group down that is within its limit.
func (u *unified) squeeze(name string, from int64) error {
	high := u.path(name, "memory.high")
	now, err := u.tree.read(high)
	if errors.Is(err, fs.ErrNotExist) || err == nil && strings.TrimSpace(now) == maxOr(from) {
		return nil
	}
	if err != nil {
		return err
	}
	return u.tree.write(high, maxOr(from))
}

func (u *unified) swaps() bool { return u.swapping }

func (u *unified) memory(name string) (m Memory, err error) {
	if !u.has("memory") {
		return Memory{-1, -1, -1}, nil
	}
	stat := u.path(name, "memory.stat")
	text, err := u.tree.read(stat)
	if err == nil {
		m.Anon, err = inText(stat, text, "anon")
	}
	if err == nil {
		m.File, err = inText(stat, text, "file")
	}
	if err != nil {
		return m, err
	}
	if m.Swapped, err = number(u.tree, u.path(name, "memory.swap.current")); errors.Is(err, fs.ErrNotExist) {
		m.Swapped = -1
		return m, nil
	}
	if cached, err := inText(stat, text, "swapcached"); err == nil { // in memory again, or still: Linux 5.12 says so
		m.Swapped = max(0, m.Swapped-cached)
	}
	return m, err
}

// reclaim uses memory.reclaim, or memory.high where the kernel is older than Linux 5.19.
func (u *unified) reclaim(ctx context.Context, name string, bytes int64) error {
	if !u.has("memory") {
		return fmt.Errorf("no controller memory: %w", errors.ErrUnsupported)
	}
	use := func() (int64, error) { return number(u.tree, u.path(name, "memory.current")) }
	high := u.path(name, "memory.high")
	before, err := u.tree.read(high)
	if err != nil {
		return err
	}
	lowered := false
	err = reclaim(ctx, bytes, use, func(to int64) error {
		now, err := use()
		if err != nil || now <= to {
			return err
		}
		switch err = u.tree.write(u.path(name, "memory.reclaim"), strconv.FormatInt(now-to, 10)); {
		case errors.Is(err, fs.ErrNotExist):
			lowered = true
			return u.tree.write(high, strconv.FormatInt(to, 10))
		case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EINTR): // it took less
			return nil
		}
		return err
	})
	if lowered {
		err = errors.Join(err, u.tree.write(high, strings.TrimSpace(before)))
	}
	return err
}

func (u *unified) usage(name string) (Usage, error) {
	use, _, err := u.measure(name)
	return use, err
}

func (u *unified) measure(name string) (use Usage, stat string, err error) {
	use = Usage{CPU: -1, Memory: -1, Peak: -1, OOMKills: -1, Starved: -1}
	file := u.path(name, "cpu.stat")
	if stat, err = u.tree.read(file); err != nil {
		return use, "", err
	}
	us, err := inText(file, stat, "usage_usec")
	if err != nil {
		return use, stat, err
	}
	use.CPU = time.Duration(us) * time.Microsecond
	if !u.has("memory") {
		return use, stat, nil
	}
	current, err := number(u.tree, u.path(name, "memory.current"))
	if err != nil {
		return use, stat, err
	}
	idle, err := keyed(u.tree, u.path(name, "memory.stat"), "inactive_file")
	if err != nil {
		return use, stat, err
	}
	use.Memory = max(0, current-idle)
	if use.OOMKills, err = keyed(u.tree, u.path(name, "memory.events"), "oom_kill"); err != nil {
		return use, stat, err
	}
	// memory.peak came with Linux 5.19
	if use.Peak, err = number(u.tree, u.path(name, "memory.peak")); errors.Is(err, fs.ErrNotExist) {
		use.Peak, err = -1, nil
	}
	return use, stat, err
}

func (u *unified) weight(vcores float64) (top, file, initial, value string) {
	if u.has("cpu") {
		top = u.top
	}
	return top, "cpu.weight", "100", strconv.FormatInt(weightV2(vcores), 10)
}

func (u *unified) capable(c *Capabilities) {
	c.Shares, c.CPULimit = u.has("cpu"), u.has("cpu")
	c.MemoryLimit, c.OOMEvents = u.has("memory"), u.has("memory")
	c.PidsLimit = u.has("pids")
}

// enable turns controllers on for the groups below folder and returns those that could be. own is the group of this
// process: a group that has members can't have controllers for groups below it (the root excepted), so they must
// move one level down first.
func enable(t tree, folder, own string, controllers []string) ([]string, error) {
	text, err := t.read(filepath.Join(folder, "cgroup.controllers"))
	if err != nil {
		return nil, err
	}
	there := strings.Fields(text)
	var enabled []string
	for _, c := range controllers {
		if !slices.Contains(there, c) {
			continue
		}
		err := t.write(filepath.Join(folder, "cgroup.subtree_control"), "+"+c)
		if errors.Is(err, syscall.EBUSY) && folder == own {
			if err := moveDown(t, own); err != nil {
				return nil, err
			}
			err = t.write(filepath.Join(folder, "cgroup.subtree_control"), "+"+c)
		}
		if err != nil {
			return enabled, fmt.Errorf("%s: enable controller %s: %w", folder, c, err)
		}
		enabled = append(enabled, c)
	}
	return enabled, nil
}

// leaf is the group, below the one that a NodeManager was started in, to which it moves itself.
const leaf = "heddle-nodemanager"

func moveDown(t tree, own string) error {
	if err := mkdirAll(t, own, filepath.Join(own, leaf)); err != nil {
		return err
	}
	text, err := t.read(filepath.Join(own, "cgroup.procs"))
	if err != nil {
		return err
	}
	for _, pid := range strings.Fields(text) {
		err := t.write(filepath.Join(own, leaf, "cgroup.procs"), pid)
		if err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("move process %s to %s: %w", pid, filepath.Join(own, leaf), err)
		}
	}
	return nil
}
