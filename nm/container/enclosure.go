package container

import (
	"context"
	"errors"
	"sync"
	"time"

	"heddle/nm/cgroup"
	"heddle/nm/suspend"
	"heddle/yarn/records"
)

// enclosure is the group that all processes of a container live in, with the two amounts that decide its limits: what the container
// was granted, and what it holds at the moment. They are the same but for one that is suspended with less. Nobody else writes
// limits.
//
// Two locks keep apart the container's goroutine, which starts and ends processes, and commands, which suspend, resume and resize.
// writing is held while the group is written to: only the kernel is waited for then. A container's turn for commands
// (Container.command) may be held over writes to the disk, and its goroutine never waits for that: a kill waits for no disk.
type enclosure struct {
	driver  cgroup.Driver
	cfg     *Config
	name    string
	writing chan struct{} // see lock

	mu          sync.Mutex
	group       cgroup.Group // nil: there is none
	grant, held records.Resource
	page        bool // it may be paged out
}

func newEnclosure(driver cgroup.Driver, cfg *Config, name string, grant records.Resource) *enclosure {
	return &enclosure{driver: driver, cfg: cfg, name: name, writing: make(chan struct{}, 1), grant: grant, held: grant}
}

// lock waits until nobody writes to the group, or ctx ends. unlock has to follow a success.
func (e *enclosure) lock(ctx context.Context) error {
	select {
	case e.writing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// seize is lock for who waits as long as it takes.
func (e *enclosure) seize() { e.writing <- struct{}{} }

func (e *enclosure) unlock() { <-e.writing }

// get returns the group, or nil where there is none.
func (e *enclosure) get() cgroup.Group {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.group
}

// size is what the container was granted.
func (e *enclosure) size() records.Resource {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.grant
}

// limits are what the kernel holds the container to now.
func (e *enclosure) limits() cgroup.Limits {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cfg.limits(e.grant, e.held, e.page)
}

// limits composes what a container was granted and what it holds into limits. Its weight against others is that of its grant, and so is
// the memory beyond which it is ended, if the node is configured so. What it holds bounds its CPU, always if that is less than its
// grant, otherwise as the node is configured. Where it holds less memory than its grant it is slowed down at that, and not ended. page
// lets it be paged out.
func (c *Config) limits(grant, held records.Resource, page bool) cgroup.Limits {
	l := cgroup.Limits{Shares: float64(grant.VCores()), Pids: c.MaxPids}
	if c.LimitMemory {
		l.Memory = grant.MemoryMB() << 20
	}
	if page {
		l.Swap = grant.MemoryMB() << 20
	}
	if held.MemoryMB() < grant.MemoryMB() {
		l.High = held.MemoryMB() << 20
	}
	less := held.VCores() < grant.VCores()
	if total := c.Resource.VCores(); total > 0 && (c.StrictCPU || less) {
		l.CPU = c.Cores * float64(held.VCores()) / float64(total)
		if less {
			l.CPU = max(l.CPU, suspend.LeastCPU)
		}
	}
	return l
}

// change makes the amounts others, and holds the processes to them if there are any. Where the kernel refuses, for instance because the
// container uses more memory than it is to have, nothing has changed. The enclosure is locked.
func (e *enclosure) change(grant, held records.Resource, page bool) error {
	if group := e.get(); group != nil {
		if err := group.SetLimits(e.cfg.limits(grant, held, page)); err != nil {
			return err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.grant, e.held, e.page = grant, held, page
	return nil
}

// release forgets what was taken from processes that are no more. The next ones have limits of their own.
func (e *enclosure) release() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.held, e.page = e.grant, false
}

// make returns the group, for processes that are to be started. There is one already if these aren't the first. Whatever was
// done to that while it had other processes, it isn't frozen, and has the limits of now.
func (e *enclosure) make(ctx context.Context) (cgroup.Group, error) {
	e.seize()
	defer e.unlock()
	if group := e.get(); group != nil {
		return group, errors.Join(group.Thaw(ctx), group.SetLimits(e.limits()))
	}
	group, err := e.driver.Create(e.name, e.limits())
	if err != nil {
		return nil, err
	}
	e.put(group)
	return group, nil
}

func (e *enclosure) put(group cgroup.Group) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.group = group
}

// find opens the group that an earlier life made, or makes one if there is none. unlimited is why it could not be held to its limits.
func (e *enclosure) find() (group cgroup.Group, unlimited, err error) {
	group, err = e.driver.Open(e.name)
	switch {
	case errors.Is(err, cgroup.ErrNotFound): // the machine was restarted, or it had just been destroyed
		group, err = e.driver.Create(e.name, e.limits())
	case err == nil:
		// The last life may have ended when it had noted down a new size, and not told the kernel yet.
		unlimited = group.SetLimits(e.limits())
	}
	if err != nil {
		return nil, nil, err
	}
	e.put(group)
	return group, unlimited, nil
}

// destroyPatience is how long the kernel may take to remove a group.
const destroyPatience = 5 * time.Second

// destroy removes the group, if there is one, and returns what was used in it.
func (e *enclosure) destroy() (use cgroup.Usage, err error) {
	group := e.get()
	if group == nil {
		return cgroup.Usage{}, nil
	}
	e.put(nil)
	ctx, cancel := context.WithTimeout(context.Background(), destroyPatience)
	defer cancel()
	use, err = group.Usage()
	if err != nil {
		use = cgroup.Usage{}
	}
	return use, group.Destroy(ctx)
}
