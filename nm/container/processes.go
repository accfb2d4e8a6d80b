package container

import (
	"context"
	"fmt"
	"time"

	"heddle/nm/cgroup"
	"heddle/nm/proc"
	"heddle/nm/sockets"
	"heddle/yarn/records"
)

// processes are a container's, as its ladder handles them. No other call writes to the group meanwhile, and the container doesn't end
// before the call has. A container becomes Paused and Running here, since nothing may come between that and the kernel's answer.
type processes struct{ *Container }

// with calls f, which may write to the group, while the container has processes that aren't being ended.
func (p processes) with(ctx context.Context, f func(g cgroup.Group, state State) error) error {
	if err := p.box.Lock(ctx); err != nil {
		return err
	}
	defer p.box.Unlock()
	state, group := p.State(), p.box.Group()
	if !state.is(inProcess...) || group == nil {
		return fmt.Errorf("it %w but %s", ErrNotRunning, state.describe())
	}
	return f(group, state)
}

// became returns why a container could not change its state after the kernel has done its part.
func became(t change) error {
	if !t.made {
		return fmt.Errorf("it %w but %s", ErrNotRunning, t.from.describe())
	}
	return nil
}

func (p processes) Size() records.Resource { return p.box.Size() }

func (p processes) Hold(ctx context.Context, held records.Resource, page bool) error {
	return p.with(ctx, func(cgroup.Group, State) error { return p.box.Change(p.box.Size(), held, page) })
}

func (p processes) Freeze(ctx context.Context) error {
	return p.with(ctx, func(g cgroup.Group, state State) error {
		if err := g.Freeze(ctx); err != nil || state != Pausing {
			return err
		}
		return became(p.transition(Paused, Pausing))
	})
}

func (p processes) Thaw(ctx context.Context) error {
	return p.with(ctx, func(g cgroup.Group, state State) error {
		if err := g.Thaw(ctx); err != nil || state != Resuming {
			return err
		}
		return became(p.toRunning(Resuming))
	})
}

// ask asks the container's group for what needs no command.
func ask[T any](p processes, get func(cgroup.Group) (T, error)) (answer T, err error) {
	group := p.box.Group()
	if group == nil {
		return answer, fmt.Errorf("container %s has no processes", p.ID())
	}
	return get(group)
}

func (p processes) Frozen() (bool, error) { return ask(p, cgroup.Group.Frozen) }

func (p processes) Reclaim(ctx context.Context, bytes int64) error {
	return p.with(ctx, func(g cgroup.Group, _ State) error { return g.Reclaim(ctx, bytes) })
}

func (p processes) PageIn(ctx context.Context) error {
	return p.with(ctx, func(g cgroup.Group, _ State) error { return g.PageIn(ctx) })
}

func (p processes) Holds(now records.Resource) { p.place.Change(p.box.Size(), now) }

func (p processes) Memory() (cgroup.Memory, error) { return ask(p, cgroup.Group.Memory) }

func (p processes) CPU() (time.Duration, error) {
	use, err := ask(p, cgroup.Group.Usage)
	return use.CPU, err
}

func (p processes) Working() bool {
	pids, err := ask(p, cgroup.Group.Processes)
	return err == nil && proc.Working(pids)
}

func (p processes) Connections() ([]sockets.Connection, error) {
	pids, err := ask(p, cgroup.Group.Processes)
	if err != nil {
		return nil, err
	}
	return sockets.Find(pids)
}

func (p processes) Look(at []sockets.Connection) ([]sockets.Connection, error) {
	return sockets.Look(at)
}
