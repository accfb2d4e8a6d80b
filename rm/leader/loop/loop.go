package loop

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"heddle/rm/leader/pipeline"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
)

// TickInterval is the time between two ticks. Deadlines that they look at are seconds to days long.
const TickInterval = time.Second

// maxTogether bounds the operations that share a batch because they were waiting already.
const maxTogether = 512

// Config is what a Loop works with.
type Config struct {
	State *ledger.State // committed; becomes the working copy
	// Propose hands a batch to the log, in order, and may block; the function that it returns waits for the commit.
	Propose func(*ledgerpb.Batch) (wait func() error)
	Wall    func() time.Time     // the clock on the wall
	Elapsed func() time.Duration // time since any moment, which never goes back; nil is the machine's monotonic clock
	Past    *Chronicle           // of the leaderships before; nil: nothing is known
	Log     *logrus.Entry
}

// Hooks are what the loop calls, in its goroutine.
type Hooks struct {
	Begin     func() error // the first operation; the loop ends if it fails
	Ready     func()       // once Begin is committed
	AfterEach func()       // after each operation, before its caller is answered, and at the time that NextWake says
	Tick      func()       // an operation, each TickInterval
	NextWake  func() int64 // when AfterEach is due before the next tick, in ms since 1970; 0 is never
}

// Loop runs operations. Do, Go, Now, Date, InSlices and Ended are safe for concurrent use; the Pipeline's methods are for operations and hooks.
type Loop struct {
	*pipeline.Pipeline
	propose func(*ledgerpb.Batch) (wait func() error)
	clock   *clock
	ops     chan *op
	ended   chan struct{}

	ctx        context.Context // set by Run
	background sync.WaitGroup  // calls under way that Go runs
}

type op struct {
	run  func() error
	done chan error // has room for one
}

func newOp(run func() error) *op { return &op{run: run, done: make(chan error, 1)} }

// New makes a loop, to be started with Run.
func New(cfg Config) *Loop {
	l := &Loop{
		propose: cfg.Propose,
		clock:   newClock(cfg.Wall, cfg.Elapsed, cfg.Past, cfg.Log),
		ops:     make(chan *op, 4096),
		ended:   make(chan struct{}),
	}
	l.Pipeline = pipeline.New(cfg.State, func() int64 { return l.Date().UnixMilli() }, func(command proto.Message, err error) {
		cfg.Log.WithError(err).WithField("command", command).Error("the ledger refuses a command")
	})
	return l
}

// Now returns the leadership's time for silence and delays: time in which the process was suspended doesn't count.
func (l *Loop) Now() time.Time { return l.clock.Now() }

// Date returns the leadership's time of day, for what is recorded, and for lifetimes and expiries. After a standstill it is ahead of Now.
func (l *Loop) Date() time.Time { return l.clock.Date() }

// Ended is closed when the leadership is over.
func (l *Loop) Ended() <-chan struct{} { return l.ended }

// Run runs operations until ctx ends or a batch isn't committed. When it returns, all callers have been answered, and no call of Go
// is under way.
func (l *Loop) Run(ctx context.Context, hooks Hooks) error {
	ctx, cancel := context.WithCancel(ctx)
	l.ctx = ctx
	carrier := pipeline.NewCarrier(l.propose)
	defer l.background.Wait()
	defer carrier.Close()
	defer cancel()
	defer close(l.ended)
	defer l.Abandon()

	run := func(o *op) { l.perform(o, hooks) }
	runWithoutReply := func(f func()) { run(newOp(func() error { f(); return nil })) }
	propose := func() {
		for b := l.Next(); b != nil; b = l.Next() {
			carrier.Carry(b)
		}
	}
	begin := newOp(hooks.Begin)
	run(begin)
	propose()
	tick := time.NewTicker(TickInterval)
	defer tick.Stop()
	wake := newAlarm()
	defer wake.Stop()
	for {
		wake.set(hooks.NextWake(), l.clock)
		ops := l.ops
		if l.Congested() {
			ops = nil // the log comes first
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case b := <-carrier.Settled():
			if err := l.Settle(b); err != nil {
				return err
			}
		case o := <-ops:
			run(o)
			l.drain(run)
		case <-wake.C:
			wake.due = 0
			runWithoutReply(func() {})
		case <-tick.C:
			l.Now() // so that the clock knows that the process runs
			runWithoutReply(hooks.Tick)
		case err := <-begin.done:
			if err != nil {
				return fmt.Errorf("take over: %w", err)
			}
			begin.done = nil
			hooks.Ready()
		}
		propose()
	}
}

// perform runs an operation and answers its caller when what it has entered is committed.
func (l *Loop) perform(o *op, hooks Hooks) {
	l.Split()
	err := o.run()
	hooks.AfterEach()
	l.Answer(o.done, err)
}

// drain runs operations that wait already, so that one batch carries many.
func (l *Loop) drain(run func(*op)) {
	for i := 0; i < maxTogether && !l.Congested(); i++ {
		select {
		case o := <-l.ops:
			run(o)
		default:
			return
		}
	}
}

// Do runs an operation in the loop, and returns its error once everything that was entered by then is committed, or ErrDeposed. Callers
// can't give up: an operation that has begun writes to what they own.
func (l *Loop) Do(run func() error) error {
	o := newOp(run)
	select {
	case l.ops <- o:
	case <-l.ended:
		return pipeline.ErrDeposed
	}
	select {
	case err := <-o.done:
		return err
	case <-l.ended:
		select {
		case err := <-o.done:
			return err
		default:
			return pipeline.ErrDeposed
		}
	}
}

// Go runs f beside the loop. f must return soon after its context ends, which it does with the leadership.
func (l *Loop) Go(f func(ctx context.Context)) {
	l.background.Go(func() { f(l.ctx) })
}
