package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"heddle/nm/cgroup/origins"
	"heddle/nm/cgroup/starved"
	"heddle/nm/proc"
)

// holder is the hierarchy by which groups are listed, frozen and killed. Names are of groups below its top.
type holder interface {
	create(name string) error
	add(name string, pid int) error
	pids(name string) ([]int, error)
	list() ([]string, error)
	frozen(name string) (bool, error)              // whether the kernel says that all are suspended
	toldToFreeze(name string) (bool, error)        // whether they are to
	freeze(ctx context.Context, name string) error // undone if it fails
	thaw(ctx context.Context, name string) error
	kill(ctx context.Context, name string) error // returns when no process is left
	folders(name string) []string                // what to remove at the end
}

// limiter bounds and measures groups. Name "" is the folder of all groups.
type limiter interface {
	prepare(name string) error // makes what the holder has not made
	admit(name string, pid int) error
	set(name string, l Limits) error
	setCPU(name string, cores float64) error
	usage(name string) (Usage, error) // without Processes and Starved
	// measure is usage with the text of cpu.stat, which says for how long the group's own limit has stopped it; "": there is no such limit.
	measure(name string) (use Usage, stat string, err error)
	// weight names the folder of all groups and, for it and those above, the file of their weight with the value that the
	// kernel begins with and the one for so many vcores. The folder is "" where groups have no weight.
	weight(vcores float64) (top, file, initial, value string)
	capable(c *Capabilities)
	swaps() bool // whether Limits.High and .Swap have an effect, given a machine with swap
	memory(name string) (Memory, error)
	reclaim(ctx context.Context, name string, bytes int64) error
	limited(name string) []string // what to remove at the end besides the holder's folders
	// watch calls changed from another goroutine after the kernel killed for memory, perhaps more often, until stop.
	// changed reports whether there was a kill that it did not know of.
	watch(name string, changed func() bool) (stop func(), err error)
	close() // returns when nothing is left of watches, which have been stopped
}

// kernelHandler makes groups of a holder and a limiter.
type kernelHandler struct {
	kind    Kind
	tree    tree
	holder  holder
	limiter limiter
	missing []string
	made    []string // folders above the groups, which Close removes when they are empty; deepest first
	origins *origins.Origins
	seated  int    // process that has the seat; 0: none
	from    string // its group before; "": the seat itself

	mu   sync.Mutex
	open map[*kernelGroup]struct{}

	parents []string // groups of groups (Below)
}

func (d *kernelHandler) Kind() Kind { return d.kind }

func (d *kernelHandler) Capabilities() Capabilities {
	c := Capabilities{Suspend: true, KillTree: true}
	d.limiter.capable(&c)
	c.Missing = slices.Clone(d.missing)
	var why string
	if c.Reclaim, why = d.canReclaim(); !c.Reclaim && c.MemoryLimit {
		c.Missing = append(c.Missing, why)
	}
	return c
}

// checkName keeps a name from meaning another folder, or a file of the kernel's.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00\n") || strings.Contains(name, "cgroup.") {
		return fmt.Errorf("%q is not a name for a group", name)
	}
	return nil
}

func (d *kernelHandler) Create(name string, l Limits) (Group, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	err := d.holder.create(name)
	if errors.Is(err, fs.ErrExist) {
		var pids []int
		if pids, err = d.holder.pids(name); err == nil && len(pids) > 0 {
			return nil, fmt.Errorf("create group %s: it exists and has %d processes, the first is %d", name, len(pids), pids[0])
		}
	}
	if err == nil {
		err = d.limiter.prepare(name)
	}
	if err == nil {
		err = d.limiter.set(name, l)
	}
	var g *kernelGroup
	if err == nil {
		g, err = d.group(name)
	}
	if err != nil {
		d.remove(name)
		return nil, fmt.Errorf("create group %s: %w", name, err)
	}
	return g, nil
}

func (d *kernelHandler) Open(name string) (Group, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	pids, err := d.holder.pids(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("group %s: %w", name, ErrNotFound)
	}
	// After a crash in the middle of Create some folders may be missing.
	if err == nil {
		err = d.limiter.prepare(name)
	}
	var g *kernelGroup
	if err == nil {
		g, err = d.group(name)
	}
	if err != nil {
		return nil, fmt.Errorf("open group %s: %w", name, err)
	}
	g.loose = len(pids) == 0 // its members may have left
	for _, pid := range pids {
		g.noteOwner(pid)
	}
	return g, nil
}

func (d *kernelHandler) group(name string) (*kernelGroup, error) {
	g := &kernelGroup{d: d, name: name}
	var can Capabilities
	if d.limiter.capable(&can); can.OOMEvents {
		use, err := d.limiter.usage(name)
		if err != nil {
			return nil, err
		}
		g.kills = use.OOMKills
		g.oom = make(chan struct{}, 1)
		if g.stop, err = d.limiter.watch(name, g.checkOOM); err != nil {
			return nil, fmt.Errorf("watch for out-of-memory kills: %w", err)
		}
		// One may have happened before the watch was on.
		g.checkOOM()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[g] = struct{}{}
	return g, nil
}

func (d *kernelHandler) Groups() ([]string, error) {
	names, err := d.holder.list()
	if err != nil {
		return nil, fmt.Errorf("list groups: %w", err)
	}
	return slices.DeleteFunc(names, d.isParent), nil
}

func (d *kernelHandler) Close() error {
	d.mu.Lock()
	groups := d.open
	d.open = nil
	d.mu.Unlock()
	for g := range groups {
		g.unwatch()
	}
	d.limiter.close()
	_ = d.Unseat(d.seated)
	for _, folder := range d.made {
		_ = d.tree.rmdir(folder) // it stays while it has groups, ours or another NodeManager's
	}
	return nil
}

// weigh gives the folder of all groups, and those above it, the weight of so many vcores. The kernel's initial one is that of a single
// process: on a busy machine all containers together would get no more than one. A folder whose weight was set by another is left
// alone, and where it can't be set containers only are slower.
func (d *kernelHandler) weigh(vcores float64) {
	top, file, initial, value := d.limiter.weight(vcores)
	if vcores <= 0 || top == "" {
		return
	}
	for f := top; slices.Contains(d.made, f); f = filepath.Dir(f) {
		if now, err := d.tree.read(filepath.Join(f, file)); err == nil && strings.TrimSpace(now) == initial {
			_ = d.tree.write(filepath.Join(f, file), value)
		}
	}
}

// remove takes away a group's folders and those that its processes made below.
func (d *kernelHandler) remove(name string) error {
	var errs []error
	for _, folder := range append(d.holder.folders(name), d.limiter.limited(name)...) {
		err := walk(d.tree, folder, d.tree.rmdir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

type kernelGroup struct {
	d    *kernelHandler
	name string
	oom  chan struct{}
	stop func()

	mu    sync.Mutex
	kills int64
	paged cursor // up to where it is paged out
	loose bool   // its processes may leave it
}

func (g *kernelGroup) Name() string         { return g.name }
func (g *kernelGroup) OOM() <-chan struct{} { return g.oom }

func (g *kernelGroup) wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s group %s: %w", doing, g.name, err)
}

func (g *kernelGroup) Add(pid int) error {
	g.noteOwner(pid)
	return g.put(pid)
}

func (g *kernelGroup) put(pid int) error {
	// Into the holder last: a group without limits must not be findable, or a kill in between would leave the
	// rest of the hierarchies to a process that is no more.
	if err := g.d.limiter.admit(g.name, pid); err != nil {
		return err
	}
	return g.d.holder.add(g.name, pid)
}

func (g *kernelGroup) SetLimits(l Limits) error { return g.wrap("limit", g.d.limiter.set(g.name, l)) }

func (g *kernelGroup) Usage() (Usage, error) {
	use, stat, err := g.d.limiter.measure(g.name)
	if err == nil {
		var pids []int
		pids, err = g.d.holder.pids(g.name)
		use.Processes = len(pids)
	}
	if u, ok := g.d.holder.(*unified); ok {
		if err == nil && use.CPU < 0 { // its cpu.stat needs no controller
			var core Usage
			core, err = (&unified{tree: u.tree, top: u.top}).usage(g.name)
			use.CPU = core.CPU
		}
		if pressure, failed := u.tree.read(u.path(g.name, "cpu.pressure")); failed == nil { // else Linux before 4.20, or with psi=0
			use.Starved = starved.Of(pressure, stat)
		}
	}
	return use, g.wrap("measure", err)
}

func (g *kernelGroup) Processes() ([]int, error) {
	pids, err := g.d.holder.pids(g.name)
	return pids, g.wrap("list the processes of", err)
}

func (g *kernelGroup) Freeze(ctx context.Context) error {
	freeze := func() error { return g.d.holder.freeze(ctx, g.name) }
	err := freeze()
	if err == nil {
		if err = g.gather(ctx, freeze); err != nil {
			err = errors.Join(err, g.d.holder.thaw(context.WithoutCancel(ctx), g.name))
		}
	}
	if err == nil {
		err = g.spare(true)
	}
	return g.wrap("freeze", err)
}

func (g *kernelGroup) Thaw(ctx context.Context) error {
	// Before it runs, as it may fork then. A limit that couldn't be raised is no reason to keep it suspended.
	return g.wrap("thaw", errors.Join(g.spare(false), g.d.holder.thaw(ctx, g.name)))
}

// spare makes the kernel end the group's processes last when memory runs out, as long as they are suspended.
func (g *kernelGroup) spare(still bool) error {
	pids, err := g.d.holder.pids(g.name)
	if err != nil {
		return err
	}
	return spare(g.d.tree, pids, still)
}

func (g *kernelGroup) Frozen() (bool, error) {
	frozen, err := g.d.holder.toldToFreeze(g.name)
	return frozen, g.wrap("look at", err)
}

// callPatience is how long a freeze waits for system calls to end. A process in one that doesn't, as of a disk that doesn't answer or of a group that
// waits for memory, is suspended as well: the kernel freezes it before it returns to its program.
const callPatience = 200 * time.Millisecond

// stand waits until the processes of a group that is told to freeze are suspended.
func stand(ctx context.Context, h holder, name string) error {
	begun := time.Now()
	return poll(ctx, func() (bool, error) {
		if frozen, err := h.frozen(name); frozen || err != nil || time.Since(begun) < callPatience {
			return frozen, err
		}
		pids, err := h.pids(name)
		return err == nil && !proc.Running(pids), err
	})
}

func (g *kernelGroup) Signal(sig syscall.Signal, except ...int) error {
	pids, err := g.d.holder.pids(g.name)
	if err == nil {
		err = signalAll(pids, sig, except)
	}
	return g.wrap("signal", err)
}

func (g *kernelGroup) Kill(ctx context.Context) error {
	_ = g.d.limiter.setCPU(g.name, 0) // the end of many threads takes minutes at 1 % of a core, and no longer than that where this fails
	kill := func() error { return g.d.holder.kill(ctx, g.name) }
	return g.wrap("kill", errors.Join(kill(), g.gather(ctx, kill)))
}

func (g *kernelGroup) Destroy(ctx context.Context) error {
	g.unwatch()
	g.d.mu.Lock()
	delete(g.d.open, g)
	g.d.mu.Unlock()
	// A process that has just died may keep its group busy for a moment.
	var last error
	err := poll(ctx, func() (bool, error) {
		last = g.d.remove(g.name)
		return !errors.Is(last, syscall.EBUSY), nil
	})
	if last != nil {
		err = last
	}
	return g.wrap("remove", err)
}

func (g *kernelGroup) unwatch() {
	g.mu.Lock()
	stop := g.stop
	g.stop = nil
	g.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// checkOOM tells the reader of OOM when the kernel has killed since the last time, and reports whether it has.
func (g *kernelGroup) checkOOM() bool {
	use, err := g.d.limiter.usage(g.name)
	if err != nil {
		return true // the group is just being removed
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if use.OOMKills <= g.kills {
		return false
	}
	g.kills = use.OOMKills
	select {
	case g.oom <- struct{}{}:
	default:
	}
	return true
}

func signalAll(pids []int, sig syscall.Signal, except []int) error {
	var errs []error
	for _, pid := range pids {
		if slices.Contains(except, pid) {
			continue
		}
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			errs = append(errs, fmt.Errorf("process %d: %w", pid, err))
		}
	}
	return errors.Join(errs...)
}

// killFrozen kills where the kernel has no call for it: while a group is frozen its processes can't fork, so that a
// pass over them reaches all. A process that resists freezing (it waits for a disk, or for a child of vfork) is
// signalled nevertheless, and seen again in the next round.
func killFrozen(ctx context.Context, h holder, name string) error {
	for {
		brief, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		frozen := h.freeze(brief, name)
		cancel()
		pids, err := h.pids(name)
		if err == nil {
			err = signalAll(pids, syscall.SIGKILL, nil)
		}
		if frozen == nil {
			err = errors.Join(err, h.thaw(ctx, name))
		}
		if err != nil || len(pids) == 0 {
			return err
		}
		brief, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
		err = poll(brief, func() (bool, error) {
			left, err := h.pids(name)
			return len(left) == 0, err
		})
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return err
		}
	}
}

// folder names the place of a NodeManager's groups below a hierarchy's base.
func folder(base, id string) string {
	clean := func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}
	return filepath.Join(base, "nm-"+strings.Map(clean, id))
}
