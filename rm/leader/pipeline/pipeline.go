package pipeline

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/limit"
)

// ErrDeposed is returned when leadership ended before an operation was committed. The next leader decides whether it took effect.
var ErrDeposed = errors.New("this ResourceManager leads no more")

// MaxInFlight is the number of batches that may wait for their commit. More don't make the disk faster; fewer let it idle.
const MaxInFlight = 3

// MaxSize bounds the size of a batch, in bytes. A batch is larger only if its one command is. Larger batches would delay
// heartbeats between members, and the log can't read back entries above raft.MaxEntry.
const MaxSize = 1 << 20

// overhead bounds what a batch takes without commands, in bytes.
const overhead = 64

// Pipeline holds the working copy of the ledger and the batches between it and the committed state. It is for one goroutine.
type Pipeline struct {
	work    *ledger.State
	bounds  limit.Bounds
	now     func() int64
	refused func(command proto.Message, err error)

	flying  []*Batch // proposed, the oldest first
	full    []*Batch // wait to be proposed, the oldest first
	current *Batch   // is being filled, behind full; nil if nothing was entered since
}

// Batch is commands that are committed together, and what happens then.
type Batch struct {
	PB  *ledgerpb.Batch // it never changes once Next has returned it
	Err error           // what became of it; set before Settle

	size    int // bound of its encoded size, in bytes
	hooks   []func()
	answers []answer
}

type answer struct {
	to  chan<- error
	err error
}

// New makes the pipeline of a leadership. state becomes the working copy, and only the pipeline changes it from now on. now yields
// the time of a new batch in ms since 1970. refused hears of commands that the working copy refuses: each is a defect of the caller.
func New(state *ledger.State, now func() int64, refused func(command proto.Message, err error)) *Pipeline {
	return &Pipeline{work: state, now: now, refused: refused}
}

// Enter applies a command to the working copy and adds it to a batch. A command that the working copy refuses reaches no batch, as
// every member would refuse it.
func (p *Pipeline) Enter(c *ledgerpb.Command) {
	limit.Clean(c)
	if p.overfull(c) {
		limit.Shorten(c)
	}
	size := limit.SizeBound(c)
	b := p.room(size)
	if err := p.work.ApplyCommand(b.PB.GetTime(), c); err != nil {
		p.refused(c, err)
		return
	}
	b.PB.Commands = append(b.PB.Commands, c)
	b.size += size
}

// EnterCompletion enters the end of a container. Consecutive ends become one command: an ApplicationMaster may release thousands at once.
func (p *Pipeline) EnterCompletion(c *ledgerpb.Completion) {
	limit.CleanCompletion(c)
	if p.completionOverfull(c) {
		limit.ShortenCompletion(c)
	}
	size := limit.CompletionBound(c)
	b := p.room(size)
	if err := p.work.Complete(b.PB.GetTime(), c); err != nil {
		p.refused(c, err)
		return
	}
	b.size += size
	if n := len(b.PB.Commands); n > 0 && b.PB.Commands[n-1].ContainersCompleted != nil {
		last := b.PB.Commands[n-1].ContainersCompleted
		last.Completions = append(last.Completions, c)
		return
	}
	b.PB.Commands = append(b.PB.Commands, &ledgerpb.Command{
		ContainersCompleted: &ledgerpb.ContainersCompleted{Completions: []*ledgerpb.Completion{c}},
	})
}

// AfterCommit calls f once everything entered so far is committed, from Settle or at once. It isn't called if that never happens.
func (p *Pipeline) AfterCommit(f func()) {
	if p.Idle() {
		f()
		return
	}
	b := p.batch()
	b.hooks = append(b.hooks, f)
}

// Answer sends err to a caller once everything entered so far is committed, or ErrDeposed if that never happens. to has room for one
// error. An operation that entered nothing is answered this way too: its results may depend on batches under way.
func (p *Pipeline) Answer(to chan<- error, err error) {
	if p.Idle() {
		to <- err
		return
	}
	b := p.batch()
	b.answers = append(b.answers, answer{to, err})
}

// Time returns the time of the batch that is being filled, in ms since 1970. Commands entered next are applied at that time, unless there is
// no room left for them in the batch.
func (p *Pipeline) Time() int64 { return p.batch().PB.GetTime() }

// Split closes the batch that is being filled if it is more than half full. Called before an operation, it puts what the operation
// enters into one batch, mostly.
func (p *Pipeline) Split() {
	if b := p.current; b != nil && b.size > MaxSize/2 {
		p.seal()
	}
}

// Idle reports whether everything that was entered is committed.
func (p *Pipeline) Idle() bool { return p.current == nil && len(p.full) == 0 && len(p.flying) == 0 }

// Congested reports whether full batches wait to be proposed. Its caller should enter nothing more until some are committed.
func (p *Pipeline) Congested() bool { return len(p.full) > 0 }

// Next returns the next batch to propose, or nil if there is none or MaxInFlight batches are under way. Batches must be proposed in
// the order in which Next returns them.
func (p *Pipeline) Next() *Batch {
	if len(p.flying) >= MaxInFlight {
		return nil
	}
	b := p.current
	switch {
	case len(p.full) > 0:
		b, p.full = p.full[0], p.full[1:]
	case b == nil:
		return nil
	default:
		p.current = nil
	}
	b.PB.Leadership = p.work.Leaders
	if p.work.Version > 1 {
		b.PB.Version = p.work.Version
	}
	p.flying = append(p.flying, b)
	return b
}

// Settle takes the fate of the oldest batch under way. If b.Err is nil the batch is committed: its hooks and answers go out, in the
// order in which they came. Otherwise the leadership is over: Settle returns why, and its caller must Abandon.
func (p *Pipeline) Settle(b *Batch) error {
	if len(p.flying) == 0 || p.flying[0] != b {
		return fmt.Errorf("a batch of %d commands was settled out of order", len(b.PB.GetCommands()))
	}
	if b.Err != nil {
		return fmt.Errorf("commit a batch of %d commands: %w", len(b.PB.GetCommands()), b.Err)
	}
	p.flying = p.flying[1:]
	for _, f := range b.hooks {
		f()
	}
	for _, a := range b.answers {
		a.to <- a.err
	}
	return nil
}

// Abandon answers all callers that wait for a batch that this leader won't see committed. It is called once, at the end; hooks of what
// is entered later are never called.
func (p *Pipeline) Abandon() {
	for _, b := range append(slices.Concat(p.flying, p.full), p.current) {
		if b == nil {
			continue
		}
		for _, a := range b.answers {
			a.to <- ErrDeposed
		}
	}
}

// room returns the batch that is being filled, or a new one if size more bytes don't fit into it.
func (p *Pipeline) room(size int) *Batch {
	if b := p.current; b != nil && len(b.PB.Commands) > 0 && b.size+size > MaxSize {
		p.seal()
	}
	return p.batch()
}

// seal closes the batch that is being filled.
func (p *Pipeline) seal() {
	p.full = append(p.full, p.current)
	p.current = nil
}

// batch returns the batch that is being filled.
func (p *Pipeline) batch() *Batch {
	if p.current == nil {
		p.current = &Batch{PB: &ledgerpb.Batch{Time: p.now()}, size: overhead}
	}
	return p.current
}
