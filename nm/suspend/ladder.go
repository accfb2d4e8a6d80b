package suspend

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"heddle/internal/pause"
	"heddle/nm/cgroup"
	"heddle/nm/sockets"
	"heddle/yarn/records"
)

// Processes are those of a container, as a ladder handles them. A call lasts no longer than the kernel takes for one step, so that a kill
// comes between any two; the context ends with the kill.
type Processes interface {
	// Size returns what the container was granted.
	Size() records.Resource
	// Hold limits the processes to an amount of memory and CPU, beyond which they slow down. Whether they may be paged out is page.
	// With all of the container's size, and page false, they have the limits of a container that was never suspended.
	Hold(ctx context.Context, held records.Resource, page bool) error
	Freeze(ctx context.Context) error
	Thaw(ctx context.Context) error
	// Frozen reports whether all of them are suspended, also where another has thawed or frozen them.
	Frozen() (bool, error)
	// Reclaim pages out so many bytes. The error is EBUSY where no more can be.
	Reclaim(ctx context.Context, bytes int64) error
	PageIn(ctx context.Context) error
	// Holds hears what the container takes of its node, whenever it has let go of some memory, or got some back past the NodeManager.
	Holds(now records.Resource)
	Memory() (cgroup.Memory, error)
	// CPU returns the time that the processes have used so far.
	CPU() (time.Duration, error)
	// Working reports whether a thread runs, or waits for a processor or a disk.
	Working() bool
	// Connections returns those that the processes have with others, and Look is how they are later. An error says that the kernel doesn't tell.
	Connections() ([]sockets.Connection, error)
	Look([]sockets.Connection) ([]sockets.Connection, error)
}

// Node has the state that all ladders of a node share. The zero Node never delays taking memory back.
type Node struct {
	// Full returns why no memory should be taken back at present, or "". Nil: it may always.
	Full func() string
	// Due returns whether a container waits for its breath. Nil: none does.
	Due func() bool
	// Awaited reports whether memory that is to be taken back is waited for; nil: it always is. Otherwise it is taken in small pieces, with
	// pauses that leave the disk to containers that start in free room.
	Awaited func() bool
	// BreathLength is how long breaths last; 0: as long as the heartbeats need.
	BreathLength time.Duration

	Rates  Rates
	Totals Totals
}

// others reports whether others wait for the end of a breath.
func (n *Node) others() bool { return n.Due != nil && n.Due() }

// slice is how many bytes are taken back between two looks at whether more should be, and smallSlice the same where no container waits for them. A pause
// after a small one lasts as long as it took, longestPause at most.
const (
	slice        = 256 << 20
	smallSlice   = 16 << 20
	longestPause = 200 * time.Millisecond
)

// aheadPatience is how long a container that is resumed waits for what was paged out. Settle reads the rest while the container runs.
const aheadPatience = time.Second

// Ladder brings a container to levels. State may be called at any time, everything else by one goroutine at a time.
type Ladder struct {
	p     Processes
	node  *Node
	beats heartbeats // for the goroutine that has the ladder

	mu      sync.Mutex
	state   State
	begun   time.Time // when the last order came; zero: its level has been reached
	awaited time.Time // when it was last said that room waits (Await)
}

// NewLadder returns the ladder of a container that runs.
func NewLadder(p Processes, node *Node) *Ladder {
	l := &Ladder{p: p, node: node}
	l.Reset()
	return l
}

// State returns how far the ladder is.
func (l *Ladder) State() State {
	l.mu.Lock()
	s := l.state
	l.mu.Unlock()
	if s.Have == Running && !s.Lags() {
		return s
	}
	if m, err := l.p.Memory(); err == nil {
		s.Swapped = max(0, m.Swapped)
	}
	return s
}

// Reset says that the container's processes are new, or gone: they have nothing that was taken from them. The last version stays.
func (l *Ladder) Reset() {
	size := l.p.Size()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state.Have.Still() {
		l.node.Totals.stood(time.Since(l.state.Stopped))
	}
	l.state = State{Order: Order{Held: size, Version: l.state.Version}, Holds: size, Since: time.Now()}
}

// Refuse notes that an order can't be carried out: the container stays what it is, and the order's version is known.
func (l *Ladder) Refuse(version int32, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.Version, l.state.Failed, l.state.Reason = version, true, why
}

// Resized returns what the container holds when it is granted another size: that size, but for what was taken from it.
func (l *Ladder) Resized(from, to records.Resource) records.Resource {
	return resized(l.State().Holds, from, to)
}

// Resize says that the container was granted another size, and holds what Resized says.
func (l *Ladder) Resize(from, to records.Resource) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.Held, l.state.Holds = resized(l.state.Held, from, to), resized(l.state.Holds, from, to)
}

func resized(held, from, to records.Resource) records.Resource {
	for k := range held {
		if held[k] == from[k] || held[k] > to[k] {
			held[k] = to[k]
		}
	}
	return held
}

// Set brings the container to the order's level, and returns when it is there: an error means that it isn't. Memory that can't be taken is
// none: the state says so (Lags, Reason), and Settle tries again. An order whose Check says no must not come here.
func (l *Ladder) Set(ctx context.Context, o Order) error {
	if err := l.Step(ctx, o); err != nil {
		return err
	}
	return l.Settle(ctx)
}

// Step is the part of Set that takes the CPU from the container, or gives it back all that it is to have. It leaves memory to Settle.
func (l *Ladder) Step(ctx context.Context, o Order) error {
	l.mu.Lock()
	have, still := l.state.Have, l.state.Have.Still() && l.state.Level.Still() // one that was to continue may have been let go
	l.state.Order, l.state.Failed, l.state.Reason, l.state.Ahead, l.state.Warm = o, false, "", false, false
	begun := time.Now()
	l.begun = begun
	l.mu.Unlock()
	defer l.arrived()
	if !o.Level.Still() {
		err := l.run(ctx, o, have)
		if have.Still() && err == nil {
			l.node.Totals.Resume.add(begun)
		}
		return err
	}
	if still {
		return nil
	}
	if err := l.p.Freeze(ctx); err != nil {
		return err
	}
	l.beats = heartbeats{stopped: time.Now()}
	l.node.Totals.Stop.add(begun)
	l.reached(Frozen)
	return nil
}

// arrived notes how long the last order took, if nothing is left to do.
func (l *Ladder) arrived() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.begun.IsZero() && !l.state.Lags() {
		l.state.Took, l.begun = time.Since(l.begun), time.Time{}
	}
}

// run lets the processes run with what they are to hold.
func (l *Ladder) run(ctx context.Context, o Order, have Level) error {
	size := l.p.Size()
	less := o.Held.MemoryMB() < size.MemoryMB()
	switch {
	case o.Held == size:
		if err := l.open(ctx, have); err != nil {
			return err
		}
	case less && !have.Still():
		return nil // Settle takes the CPU before the memory
	default:
		if err := l.p.Hold(ctx, o.Held, less); err != nil {
			return err
		}
	}
	if have.Still() {
		l.beats = heartbeats{}
		if err := l.p.Thaw(ctx); err != nil {
			return err
		}
	}
	if less {
		l.reached(Shrunk)
		return nil
	}
	l.holds(o.Held)
	l.reached(o.Level)
	return nil
}

// open gives the processes all of their size: memory first, then what was paged out, then the CPU.
func (l *Ladder) open(ctx context.Context, have Level) error {
	size := l.p.Size()
	slow := size
	if !have.Still() {
		slow[records.VCores] = l.State().Holds.VCores()
	}
	if err := l.p.Hold(ctx, slow, false); err != nil {
		return err
	}
	before, err := l.p.Memory()
	if err == nil && before.Swapped != 0 { // a handler of cgroups that can't tell says −1
		begun := time.Now()
		brief, cancel := context.WithTimeout(ctx, aheadPatience)
		err := l.p.PageIn(brief)
		late := brief.Err() != nil
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		l.readsAhead(late)
		if after, e := l.p.Memory(); err == nil && e == nil {
			l.node.pagedIn(before.Swapped-after.Swapped, time.Since(begun))
		}
	}
	if slow == size {
		return nil
	}
	return l.p.Hold(ctx, size, false)
}

// readsAhead notes whether what was paged out of a container that runs is still to be read.
func (l *Ladder) readsAhead(still bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.Ahead = still
}

// Settle takes the memory from the container that it isn't to hold, and reads what was paged out of one that runs again, as far as either is to be done.
func (l *Ladder) Settle(ctx context.Context) error {
	s := l.State()
	if s.Ahead {
		if err := l.read(ctx, s); err != nil {
			return err
		}
	}
	if !s.Lags() {
		return nil
	}
	defer l.arrived()
	begun := time.Now()
	size := l.p.Size()
	if s.Held.MemoryMB() >= size.MemoryMB() {
		if s.Holds.MemoryMB() < size.MemoryMB() {
			if err := l.p.Hold(ctx, s.Held, false); err != nil {
				return err
			}
		}
		l.holds(s.Held)
		l.reached(s.Level)
		return nil
	}
	// The CPU goes first, all of it: pages written meanwhile would need to be paged out as well.
	slow := size
	slow[records.VCores] = 0
	if err := l.p.Hold(ctx, slow, true); err != nil {
		return err
	}
	switch reason, err := l.shrink(ctx, s.Held.MemoryBytes()); {
	case err != nil:
		return err
	case reason != "":
		return l.stop(ctx, s.Order, reason)
	}
	err := l.p.Hold(ctx, s.Held, true)
	if errors.Is(err, syscall.EBUSY) { // it has grown meanwhile
		return l.stop(ctx, s.Order, err.Error())
	}
	if err != nil {
		return err
	}
	l.holds(s.Held)
	l.reached(s.Level)
	l.node.Totals.Shrink.add(begun)
	return nil
}

// read reads what was paged out of a container that runs again, or is about to.
func (l *Ladder) read(ctx context.Context, s State) error {
	if s.Warm {
		holds := s.Held
		holds[records.Memory] = l.p.Size().MemoryMB()
		if err := l.p.Hold(ctx, holds, true); err != nil {
			return err
		}
		l.holds(holds)
		l.p.Holds(holds)
	}
	begun := time.Now()
	err := l.p.PageIn(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if l.readsAhead(false); err != nil {
		return err
	}
	if after, err := l.p.Memory(); err == nil {
		l.node.pagedIn(s.Swapped-after.Swapped, time.Since(begun))
	}
	return nil
}

// WarmTime is how long a container that is suspended keeps what was read ahead since it was last said that room waits: who said so may be gone.
const WarmTime = time.Minute

// Await says whether room waits for the return of a container that is suspended, as was said at a time. If so, Settle reads what was paged out; if not,
// or if that is WarmTime ago, Settle takes it again, most of which swap still has.
func (l *Ladder) Await(room bool, said time.Time) {
	size := l.p.Size()
	l.mu.Lock()
	defer l.mu.Unlock()
	room = room && time.Since(said) < WarmTime
	if room && said.After(l.awaited) {
		l.awaited = said
	}
	s := &l.state
	if !s.Have.Still() || s.Level != Reclaimed || s.Held.MemoryMB() >= size.MemoryMB() || s.Warm == room {
		return
	}
	s.Warm, s.Ahead = room, room
}

// Expire makes Settle take back memory that was read ahead if no room was reported to wait for WarmTime.
func (l *Ladder) Expire() {
	l.mu.Lock()
	over := time.Since(l.awaited) >= WarmTime
	l.mu.Unlock()
	if over {
		l.Await(false, time.Time{})
	}
}

// Relieve gives a container that runs with less memory than it was granted all of that, if it needs more than it holds and none of what it has
// can be paged out: else it would wait for ever. The state says so, and Settle takes the memory again when that is possible.
func (l *Ladder) Relieve(ctx context.Context) error {
	s := l.State()
	if !s.Squeezed(l.p.Size()) || l.node.Full == nil {
		return nil
	}
	why := l.node.Full()
	if why == "" {
		return nil
	}
	m, err := l.p.Memory()
	if limit := s.Holds.MemoryBytes(); err != nil || m.Used() < limit-limit/16 {
		return err
	}
	return l.stop(ctx, s.Order, "it needs more memory than it is to hold, and none can be paged out: "+why)
}

// stop leaves the container with the memory that could not be taken from it, and with the CPU that it is to have. One that runs may need all
// of its size, one that is suspended has what it has.
func (l *Ladder) stop(ctx context.Context, o Order, reason string) error {
	holds := l.p.Size()
	holds[records.VCores] = o.Held.VCores()
	if err := l.p.Hold(ctx, holds, true); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state.Have.Still() {
		holds[records.Memory] = l.state.Holds[records.Memory]
	}
	l.state.Holds, l.state.Reason = holds, reason
	return nil
}

// megabytes rounds up.
func megabytes(bytes int64) int64 { return (bytes + 1<<20 - 1) >> 20 }

// uses notes that a container has no more than so many bytes. If it is suspended, it takes no more of its node until it resumes: others need not
// wait until the rest is paged out.
func (l *Ladder) uses(bytes int64) {
	l.mu.Lock()
	s := &l.state
	mb := max(megabytes(bytes), s.Held.MemoryMB())
	less := s.Have.Still() && s.Level.Still() && mb < s.Holds.MemoryMB()
	if less {
		s.Holds[records.Memory] = mb
	}
	holds := s.Holds
	l.mu.Unlock()
	if less {
		l.p.Holds(holds)
	}
}

// shrink takes memory back until no more than so many bytes are left. reason is why it stopped before.
func (l *Ladder) shrink(ctx context.Context, left int64) (reason string, err error) {
	m, err := l.p.Memory()
	for err == nil {
		used := m.Used()
		over := used - left
		if over <= 0 {
			return "", nil
		}
		l.uses(used)
		if l.node.Full != nil {
			if why := l.node.Full(); why != "" {
				return why, nil
			}
		}
		piece := min(over, slice)
		unhurried := l.node.Awaited != nil && !l.node.Awaited()
		if unhurried {
			piece = min(over, smallSlice)
		}
		begun := time.Now()
		reclaimed := l.p.Reclaim(ctx, piece)
		took := time.Since(begun)
		if reclaimed != nil && !errors.Is(reclaimed, syscall.EBUSY) {
			return "", reclaimed
		}
		if m, err = l.p.Memory(); err != nil {
			return "", err
		}
		taken := used - m.Used()
		l.node.pagedOut(taken, took)
		if reclaimed != nil && taken <= 0 {
			return fmt.Sprintf("%d MB of its memory can't be paged out", over>>20), nil
		}
		if unhurried && over > piece {
			if err := pause.For(ctx, min(took, longestPause)); err != nil {
				return "", err
			}
		}
	}
	return "", err
}

// reached notes that the container has a level.
func (l *Ladder) reached(level Level) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.state
	if s.Have == level {
		return
	}
	if s.Have.Still() && !level.Still() {
		l.node.Totals.stood(time.Since(s.Stopped))
	} else if !s.Have.Still() && level.Still() {
		s.Stopped = time.Now()
	}
	if s.Have.Still() != level.Still() {
		s.LastBreath = time.Time{}
	}
	s.Have, s.Since = level, time.Now()
}

func (l *Ladder) holds(r records.Resource) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.Holds, l.state.Reason = r, ""
}
