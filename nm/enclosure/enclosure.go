// Package enclosure is the group that all processes of a container live in, with the amounts that decide its limits: the container's grant,
// and what it holds at the moment. They differ only for a suspended or shrunk container. Callers set grants and holds, and the package
// writes limits. Nothing else on the node writes any, so an update of a container's size can't undo a suspension.
//
// Each container (nm/container) has one Enclosure. A group is made by nm/cgroup.
package enclosure

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"heddle/nm/cgroup"
	"heddle/nm/suspend"
	"heddle/yarn/records"
)

// Rules are the node's, for the limits of all containers.
type Rules struct {
	Resource    records.Resource // what the node has for containers
	Cores       float64          // CPU cores that all containers together may use
	LimitMemory bool             // let the kernel hold containers to their memory
	StrictCPU   bool             // hold containers to their share of the CPU even when others leave theirs unused
	MaxPids     int64            // processes and threads of a container; 0: any number
}

// Enclosure is one container's. Make it with New. Its methods may be called from several goroutines.
//
// Two locks keep apart the container's goroutine, which starts and ends processes, and commands, which suspend, resume and resize.
// One is held while the group is written to (Lock): only the kernel is waited for then. A container's turn for commands may be held over
// writes to the disk, and its goroutine never waits for that: a kill waits for no disk.
type Enclosure struct {
	handler cgroup.Handler
	rules   *Rules
	name    string
	writing chan struct{} // see Lock

	mu          sync.Mutex
	group       cgroup.Group // nil: there is none
	grant, held records.Resource
	page        bool // it may be paged out
}

// New makes the enclosure of a container, which has no group yet. name is the group's.
func New(handler cgroup.Handler, rules *Rules, name string, grant records.Resource) *Enclosure {
	return &Enclosure{handler: handler, rules: rules, name: name, writing: make(chan struct{}, 1), grant: grant, held: grant}
}

// Lock waits until no other writes to the group, or ctx ends. Unlock must follow a success.
func (e *Enclosure) Lock(ctx context.Context) error {
	select {
	case e.writing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Seize is Lock without a bound on the wait.
func (e *Enclosure) Seize() { e.writing <- struct{}{} }

// Unlock ends a Lock or Seize.
func (e *Enclosure) Unlock() { <-e.writing }

// Group returns the group, or nil where there is none.
func (e *Enclosure) Group() cgroup.Group {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.group
}

// Size returns what the container was granted.
func (e *Enclosure) Size() records.Resource {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.grant
}

// Limits returns what the kernel holds the container to now.
func (e *Enclosure) Limits() cgroup.Limits {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.rules.compose(e.grant, e.held, e.page)
}

// compose composes what a container was granted and what it holds into limits. Its weight against others is that of its grant, and so is
// the memory beyond which it is ended, if the node is configured so. The held amount bounds its CPU, always if that is less than its
// grant, otherwise as the node is configured. Where it holds less memory than its grant it is slowed down at that, and not ended. page
// lets it be paged out.
func (r *Rules) compose(grant, held records.Resource, page bool) cgroup.Limits {
	l := cgroup.Limits{Shares: float64(grant.VCores()), Pids: r.MaxPids}
	if r.LimitMemory {
		l.Memory = grant.MemoryBytes()
	}
	if page {
		l.Swap = grant.MemoryBytes()
	}
	if held.MemoryMB() < grant.MemoryMB() {
		l.High = held.MemoryBytes()
	}
	less := held.VCores() < grant.VCores()
	if total := r.Resource.VCores(); total > 0 && (r.StrictCPU || less) {
		l.CPU = r.Cores * float64(held.VCores()) / float64(total)
		if less {
			l.CPU = max(l.CPU, suspend.LeastCPU)
		}
	}
	return l
}

// Change makes the amounts others, and holds the processes to them if there are any. Where the kernel refuses, for instance because the
// container uses more memory than it is to have, nothing has changed. The enclosure is locked.
func (e *Enclosure) Change(grant, held records.Resource, page bool) error {
	if group := e.Group(); group != nil {
		if err := group.SetLimits(e.rules.compose(grant, held, page)); err != nil {
			return errors.Join(err, group.SetLimits(e.Limits())) // some of them may have been written
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.grant, e.held, e.page = grant, held, page
	return nil
}

// Fits refuses a grant below what processes have in memory and on disk: they would be ended when the latter is read. The kernel refuses by itself only
// a limit below what is in memory. The error is EBUSY, as the kernel's.
func (e *Enclosure) Fits(grant records.Resource) error {
	group, limit := e.Group(), grant.MemoryBytes()
	if group == nil || !e.rules.LimitMemory || grant.MemoryMB() >= e.Size().MemoryMB() {
		return nil
	}
	m, err := group.Memory()
	if err != nil || m.Swapped <= 0 {
		return err
	}
	use, err := group.Usage()
	if needs := use.Memory + m.Swapped; err == nil && needs > limit {
		err = fmt.Errorf("change the size of container %s to %v: it has %d MB in memory and paged out, and would be ended when it resumes: %w",
			e.name, grant, needs>>20, syscall.EBUSY)
	}
	return err
}

// Release forgets what was taken from processes that are no more. The next ones have limits of their own.
func (e *Enclosure) Release() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.held, e.page = e.grant, false
}

// Make returns the group, for processes that are to be started. There is one already if these aren't the first. Whatever was
// done to that while it had other processes, it isn't frozen, and has the limits of now.
func (e *Enclosure) Make(ctx context.Context) (cgroup.Group, error) {
	e.Seize()
	defer e.Unlock()
	if group := e.Group(); group != nil {
		return group, errors.Join(group.Thaw(ctx), group.SetLimits(e.Limits()))
	}
	group, err := e.handler.Create(e.name, e.Limits())
	if err != nil {
		return nil, err
	}
	e.put(group)
	return group, nil
}

func (e *Enclosure) put(group cgroup.Group) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.group = group
}

// Find opens the group that an earlier life made, or makes one if there is none. unlimited is why it could not be held to its limits.
func (e *Enclosure) Find() (group cgroup.Group, unlimited, err error) {
	group, err = e.handler.Open(e.name)
	switch {
	case errors.Is(err, cgroup.ErrNotFound): // the machine was restarted, or it had just been destroyed
		group, err = e.handler.Create(e.name, e.Limits())
	case err == nil:
		// The last life may have ended when it had noted down a new size, and not told the kernel yet.
		unlimited = group.SetLimits(e.Limits())
	}
	if err != nil {
		return nil, nil, err
	}
	e.put(group)
	return group, unlimited, nil
}

// destroyPatience is how long the kernel may take to remove a group.
const destroyPatience = 5 * time.Second

// Destroy removes the group, if there is one, and returns what was used in it.
func (e *Enclosure) Destroy() (use cgroup.Usage, err error) {
	group := e.Group()
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

// Together bounds containers that may only together use an amount: executors of short tasks, of which each may use all that the node was lent.
type Together struct {
	Group cgroup.Parent // of the containers' groups
	Rules *Rules
}

// leastTogether is the memory that they may use if the amount has none: a kernel takes a limit of 0 for no limit.
const leastTogether = 1 << 20

// Set makes the amount another one. Where the kernel refuses, as they use more memory, nothing has changed.
func (t Together) Set(memoryMB, vcores int64) error {
	l := cgroup.Limits{Shares: float64(vcores)}
	if t.Rules.LimitMemory {
		l.Memory = max(memoryMB<<20, leastTogether)
		l.Swap = l.Memory // a suspended container may be paged out, as its own limits say
	}
	if total := t.Rules.Resource.VCores(); t.Rules.StrictCPU && total > 0 {
		l.CPU = t.Rules.Cores * float64(vcores) / float64(total)
	}
	return t.Group.SetLimits(l)
}
