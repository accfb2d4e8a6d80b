// Package cgroup keeps the processes of a container together: it limits them, measures them, freezes and thaws them and
// kills them as a whole, including daemons that left their session.
//
// A Handler is chosen by Detect from what the machine has:
//
//	v2      the unified hierarchy has the controllers (today's distributions)
//	hybrid  v1 hierarchies have the controllers, and a v2 group of each container freezes and kills it
//	v1      v1 hierarchies only, with the v1 freezer
//	none    no cgroups to write to: members are found in the process table, stopped and killed by signals
//
// Capabilities.Missing lists in words what the chosen handler can't promise, for the node's report and for people.
//
// Groups lie at MOUNT/ROOT/ID/NAME: ROOT is heddle.cgroup.root, ID tells several NodeManagers of a machine apart, NAME
// is a container's id. The NodeManager itself has MOUNT/ROOT/nodemanager, as far as that gives it the CPU before its containers. A group has no owner but the file system: a NodeManager that was killed finds its groups again
// with Groups and Open.
//
// It is large because three kinds of hierarchies do the same by different files, and what one of them lacks is done in another way.
//
// A process is put into its group before it does any work (Group.Add), since v1 leaves memory charged to the group in
// which it was first touched.
package cgroup

import (
	"context"
	"errors"
	"syscall"
	"time"
)

// Kind names a handler.
type Kind string

// The kinds of handlers; Auto lets Detect choose.
const (
	Auto   Kind = "auto"
	V2     Kind = "v2"
	Hybrid Kind = "hybrid"
	V1     Kind = "v1"
	None   Kind = "none"
)

// ErrNotFound says that there is no group of that name.
var ErrNotFound = errors.New("no such group")

// Limits bound a group. A zero field sets no bound.
type Limits struct {
	Memory int64   // bytes, of anonymous and page cache memory together; reaching it kills (see OOM)
	High   int64   // bytes from which on memory is paged out, without a kill: processes that need more wait
	Swap   int64   // bytes that may be paged out; 0: none, if Memory is bounded
	Shares float64 // weight under contention, in vcores: a group of 2 gets twice what a group of 1 gets
	CPU    float64 // cores that may be used even when others are idle
	Pids   int64   // processes and threads
}

// Usage is the use of resources by a group so far. Fields that the handler can't tell are −1.
type Usage struct {
	CPU       time.Duration // all processes that ever were in the group; of handler none: those in it now
	Memory    int64         // bytes in use, without page cache that could be dropped at once
	Peak      int64         // highest memory use so far in bytes, page cache included
	OOMKills  int64         // processes that the kernel killed because the group was at its memory limit
	Starved   time.Duration // in which it could have run and had no processor, without what its own limit took (nm/cgroup/starved)
	Processes int           // alive now
}

// Capabilities tell which operations a handler supports on this machine.
type Capabilities struct {
	Suspend     bool // Freeze and Thaw
	KillTree    bool // Kill reaches every descendant, wherever it went
	Shares      bool // Limits.Shares
	CPULimit    bool // Limits.CPU
	MemoryLimit bool // Limits.Memory
	PidsLimit   bool // Limits.Pids
	OOMEvents   bool // Group.OOM
	Reclaim     bool // Limits.High and .Swap, Group.Reclaim, also of programs' memory. The machine may get and lose swap meanwhile

	// Missing has a sentence for each guarantee that can't be given, with the reason.
	Missing []string
}

// Features returns the names of what is there, for NodeCapabilities.
func (c Capabilities) Features() []string {
	var out []string
	for _, f := range []struct {
		have bool
		name string
	}{
		{c.Suspend, "suspend"},
		{c.KillTree, "kill-tree"},
		{c.Shares, "cpu-shares"},
		{c.CPULimit, "cpu-limit"},
		{c.MemoryLimit, "memory-limit"},
		{c.PidsLimit, "pids-limit"},
		{c.OOMEvents, "oom-events"},
		{c.Reclaim, "reclaim"},
	} {
		if f.have {
			out = append(out, f.name)
		}
	}
	return out
}

// Handler makes groups. Its methods may be called from several goroutines.
type Handler interface {
	Kind() Kind
	Capabilities() Capabilities

	// Create makes an empty group. A group that is there already is taken over if it is empty, and refused otherwise.
	Create(name string, l Limits) (Group, error)

	// Open returns a group that is there already, for instance from before a restart, or ErrNotFound.
	Open(name string) (Group, error)

	// Groups returns the names of all groups there are, but for those that Below made. Kind none can't know and returns none.
	Groups() ([]string, error)

	// Below makes a group for groups, which bounds them together. See kernelHandler.Below. Groups doesn't name it.
	Below(name string, l Limits) (Parent, error)

	// Unseat puts a program that this process runs for itself, and that may take its time, where Options.First found this process.
	Unseat(pid int) error

	// Close removes what the handler itself has made, as far as it is empty. Groups that are left stay as they are.
	Close() error
}

// Group is the processes of a container. Methods that take a context return when the effect is confirmed by the kernel
// or with an error when ctx ended first. After Destroy a group must not be used.
type Group interface {
	Name() string

	// Add puts a process, which should not have done anything yet, into the group.
	Add(pid int) error

	// SetLimits changes the limits; a zero field lifts its bound. A memory limit below what can't be taken back is
	// refused with EBUSY and left as it was.
	SetLimits(l Limits) error

	Usage() (Usage, error)

	// Memory returns what the group's memory is made of.
	Memory() (Memory, error)

	// Reclaim takes so many bytes of memory back, page cache first. Where no more can be taken the error is EBUSY. It may be called while
	// the group is frozen. Without Limits.Swap only page cache is taken. It leaves the limits as they were; other calls of Reclaim and
	// SetLimits must wait until it has returned.
	Reclaim(ctx context.Context, bytes int64) error

	// PageIn begins to read back what was paged out, ahead of need.
	PageIn(ctx context.Context) error

	// Processes returns the pids in the group, without zombies.
	Processes() ([]int, error)

	// Freeze stops all processes; they can't tell afterwards, but for the clock.
	Freeze(ctx context.Context) error
	// Thaw undoes Freeze.
	Thaw(ctx context.Context) error
	// Frozen reports whether all processes are stopped.
	Frozen() (bool, error)

	// Signal sends sig to all processes, except those named. A frozen process sees it when it is thawed.
	Signal(sig syscall.Signal, except ...int) error

	// Kill ends all processes, frozen or not, and returns when none is left.
	Kill(ctx context.Context) error

	// OOM has a value soon after the kernel killed a process of the group for memory. It is nil without
	// Capabilities.OOMEvents.
	OOM() <-chan struct{}

	// Destroy removes the group, which must have no processes.
	Destroy(ctx context.Context) error
}

// poll calls cond at growing intervals until it is true, it fails or ctx ends. The first tries follow each other
// quickly: most confirmations take less than a millisecond, while the kernel's own notifications come 10 ms apart.
func poll(ctx context.Context, cond func() (bool, error)) error {
	for wait := 20 * time.Microsecond; ; wait = min(2*wait, 10*time.Millisecond) {
		ok, err := cond()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}
