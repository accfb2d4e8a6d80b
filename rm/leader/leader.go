package leader

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"heddle/conf"
	"heddle/rm/hosts"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/records"
)

// Settings are what the configuration says. Durations of 0 mean never.
type Settings struct {
	ID    string // of this ResourceManager
	Types records.ResourceTypes

	MinAllocation records.Resource // asks are rounded up to multiples of it
	MaxAllocation records.Resource // of one container

	MaxAttempts       int32 // that an application has when it says nothing
	GlobalMaxAttempts int32 // that it may ask for
	MaxCompleted      int   // ended applications that are remembered
	MaxPriority       int32 // of an application

	AMExpiry          time.Duration // silence after which an ApplicationMaster counts as dead
	NodeExpiry        time.Duration // silence after which a node counts as lost
	AllocationExpiry  time.Duration // within which a granted container must be started
	HeartbeatInterval time.Duration // of NodeManagers
	// SchedulingWait is how long after the start larger nodes than those that are there may come: until then containers may be
	// as large as MaxAllocation.
	SchedulingWait time.Duration
	// DecommissionTimeout is what nodes that leave gracefully are given when nobody says otherwise; less than 0 is no end.
	DecommissionTimeout time.Duration
	KeyLifetime         map[ledgerpb.KeyKind]time.Duration

	DelegationLifetime time.Duration // of a delegation token, however often it is renewed
	DelegationRenewal  time.Duration // within which it must be renewed
	// KeepTokens is how long tokens of others outlive the application that brought them: its nodes may have logs to upload.
	KeepTokens time.Duration
	TokenCalls TokenCalls

	// PageURL is the address of an application's page.
	PageURL func(records.ApplicationID) string

	// Increment is the step in which containers grow, where it isn't MinAllocation: with the queues of YARN's FairScheduler.
	Increment records.Resource
	// Queues are those that there are at the beginning; nil is root.default alone.
	Queues *queue.Tree
	// Live is what others than the leader read of them; nil is one of its own.
	Live *queue.Live
	// QueueSource reads them anew; nil leaves them as they are.
	QueueSource QueueSource
	// MaySubmit decides who may submit to a queue, by its path; nil lets everybody.
	MaySubmit func(user, queue string) bool
	// ACLs has lists of queues say who may have which priorities (yarn.acl.enable).
	ACLs bool
	// Groups are those of a user, the primary one first; nil is none.
	Groups func(user string) ([]string, error)

	// MaxSubmission is the size of the largest context of a submission, in bytes; 0 is what a command can hold.
	MaxSubmission int

	MaxTags      int // of an application; 0 means no limit, as does 0 of the next ones
	MaxTagLength int // in characters
	MaxRequests  int // of an application that differ in priority or allocation request id
	MaxPlaces    int // hosts and racks in an application's requests, and on its blacklist
}

// Launcher talks to NodeManagers on the leader's behalf. Its methods block until the node has answered.
type Launcher interface {
	// Launch starts the container of an ApplicationMaster.
	Launch(ctx context.Context, l Launch) error
	// Stop ends a container of an attempt.
	Stop(ctx context.Context, node records.NodeID, attempt records.AttemptID, id records.ContainerID) error
	// Suspend and Resume freeze and thaw a container.
	Suspend(ctx context.Context, node records.NodeID, attempt records.AttemptID, id records.ContainerID) error
	Resume(ctx context.Context, node records.NodeID, attempt records.AttemptID, id records.ContainerID) error
}

// Config is what a Leader works with.
type Config struct {
	Settings Settings
	// State is the committed state at the beginning; the leader keeps it as its working copy.
	State *ledger.State
	// Propose hands a batch to raft, in order, and may block; the function it returns waits for the commit and yields what
	// the ledger said. Nobody changes the batch any more.
	Propose  func(*ledgerpb.Batch) (wait func() error)
	Launcher Launcher
	// Versions finds the newest version of the ledger that all members can apply; it may be slow. nil leaves it as it is.
	Versions func(context.Context) (int32, error)
	// Tokens renews what others than this ResourceManager have issued; nil if nothing does.
	Tokens Tokens
	// Now is the clock on the wall. The leader replaces it with a clock of its own, which doesn't step; see clock.
	Now func() time.Time
	// Elapsed is how much time has passed since any time, and never goes back; nil is the machine's monotonic clock.
	Elapsed func() time.Duration
	NewKey  func(kind ledgerpb.KeyKind) (id int32, secret []byte, err error) // a random master key
	Rack    func(host string) string                                         // rack of a host, such as /default-rack; may be slow
	Hosts   *hosts.Lists                                                     // that may be nodes; nil admits all
	Log     *logrus.Entry
	// Record is where the scheduler's events are written to; nil if they aren't. RecordedQueues is what Settings.Queues are
	// made from, for whoever replays them.
	Record         *eventlog.Writer
	RecordedQueues *eventlog.Source
}

// maxInFlight is the number of batches that may wait for their commit; more would not make the disk faster, and fewer
// would let it idle.
const maxInFlight = 3

// maxBatch is the size from which on commands go into the next batch, in bytes. A batch is larger only if its one command is. Larger
// ones would hold up heartbeats between members, and the log can't read back entries above raft.MaxEntry.
const maxBatch = 1 << 20

// batchOverhead is what a batch takes without commands at most, in bytes.
const batchOverhead = 64

// Leader leads. Its exported methods are safe for concurrent use while Run runs.
type Leader struct {
	Config
	work  *ledger.State
	sched *eventlog.Scheduler
	epoch int64
	began time.Time // when New was called

	ops chan *op
	// Batches on their way, in order: to be proposed, to be committed, and with their fate known.
	proposing, committing, settled chan *batch
	ended                          chan struct{} // closed when Run returns
	flying                         []*batch
	full                           []*batch // that wait to be proposed, in order; current comes behind them
	current                        *batch

	apps       map[records.ApplicationID]*appSoft
	byHandle   map[scheduler.AppHandle]*appSoft
	nodes      map[records.NodeID]*nodeSoft
	nodeOf     map[scheduler.NodeHandle]*nodeSoft
	granted    []*appSoft // to whom schedule gives containers
	growing    growths    // containers that are to grow as soon as there is room
	grown      grownList  // containers that were given more, by the time when their nodes must know
	unstarted  unstarted
	carried    carriedTokens
	issued     issued
	orders     map[records.ContainerID]*order // that nodes have not answered yet
	seq        int64
	refs       ledger.Refs
	preemption preemption
	versions   versions
	background sync.WaitGroup // calls to nodes under way
	ctx        context.Context

	sessions sessions
	signing  signing
	hosts    atomic.Pointer[hosts.Lists]
	reserved atomic.Pointer[map[records.ApplicationID]Reserved]
	shares   fairShares
	refusals startRefusals
}

// batch collects the commands of several operations, and what is to happen when they are committed.
type batch struct {
	pb      *ledgerpb.Batch
	size    int // that it takes at most when it is encoded, in bytes
	wait    func() error
	err     error
	after   []func()
	replies []reply
}

type reply struct {
	to  chan<- error
	err error
}

type op struct {
	run  func(*turn) error
	done chan error
}

// turn is one operation in the loop.
type turn struct{ *Leader }

// New makes the leader of a leadership that has just begun; raft must have applied everything that was committed before.
func New(cfg Config) *Leader {
	if cfg.Settings.Queues == nil {
		cfg.Settings.Queues = queue.Default(queue.Capacity)
	}
	if cfg.Settings.Live == nil {
		cfg.Settings.Live = queue.NewLive(cfg.Settings.Queues)
	}
	cfg.Now = newClock(cfg.Now, cfg.Elapsed, cfg.Log).Now
	l := &Leader{
		Config:     cfg,
		work:       cfg.State,
		began:      cfg.Now(),
		ops:        make(chan *op, 4096),
		proposing:  make(chan *batch, maxInFlight),
		committing: make(chan *batch, maxInFlight),
		settled:    make(chan *batch, maxInFlight),
		ended:      make(chan struct{}),
		apps:       map[records.ApplicationID]*appSoft{},
		byHandle:   map[scheduler.AppHandle]*appSoft{},
		nodes:      map[records.NodeID]*nodeSoft{},
		nodeOf:     map[scheduler.NodeHandle]*nodeSoft{},
	}
	l.hosts.Store(cfg.Hosts)
	var err error
	if l.sched, err = eventlog.New(scheduler.Config{
		Tree: cfg.Settings.Queues, Minimum: cfg.Settings.MinAllocation, Types: cfg.Settings.Types, Heartbeat: cfg.Settings.HeartbeatInterval,
	}, cfg.Record, cfg.RecordedQueues, eventlog.Header{Heddle: conf.Version, Time: cfg.Now().UnixMilli()}); err != nil {
		cfg.Log.WithError(err).Error("the scheduler's events are not recorded")
	}
	return l
}

// Run leads until ctx ends or the log fails. ready is called once the leader has taken over: it has recorded its
// leadership, and answers.
func (l *Leader) Run(ctx context.Context, ready func()) error {
	ctx, cancel := context.WithCancel(ctx)
	l.ctx = ctx
	var pipeline sync.WaitGroup
	pipeline.Go(l.proposeAll)
	pipeline.Go(l.commitAll)
	defer l.background.Wait()
	defer pipeline.Wait()
	defer close(l.proposing)
	defer cancel()
	defer close(l.ended)
	defer l.abandon()

	begin := &op{run: func(t *turn) error { return t.takeOver() }, done: make(chan error, 1)}
	l.run(begin)
	l.propose()
	tick := time.NewTicker(tickInterval)
	defer tick.Stop()
	wake := time.NewTimer(time.Hour)
	defer wake.Stop()
	var due int64
	for {
		if next := l.nextWake(); next != due {
			if due = next; due > 0 {
				wake.Reset(time.UnixMilli(due).Sub(l.Now()))
			}
		}
		ops := l.ops
		if len(l.full) > 0 {
			ops = nil // the log comes first
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case b := <-l.settled:
			if err := l.settle(b); err != nil {
				return err
			}
		case o := <-ops:
			l.run(o)
			l.drain()
		case <-wake.C:
			due = 0
			l.run(&op{run: func(t *turn) error { t.preempt(t.Now()); return nil }, done: make(chan error, 1)})
		case <-tick.C:
			l.run(&op{run: func(t *turn) error { return t.tick() }, done: make(chan error, 1)})
		case err := <-begin.done:
			if err != nil {
				return fmt.Errorf("take over: %w", err)
			}
			begin.done = nil
			ready()
		}
		l.propose()
	}
}

// nextWake is when something is due before the next tick, in ms; 0 is never.
func (l *Leader) nextWake() int64 {
	next, round := l.sched.NextWake(), l.preemption.wake()
	if next == 0 || round != 0 && round < next {
		return round
	}
	return next
}

// drain runs the operations that wait already, up to a bound, so that one batch carries many.
func (l *Leader) drain() {
	for i := 0; i < 512 && len(l.full) == 0; i++ {
		select {
		case o := <-l.ops:
			l.run(o)
		default:
			return
		}
	}
}

// run carries out an operation. Its caller is answered with the batch that the operation became part of, also when it
// changed nothing: what it saw may hang on batches under way.
func (l *Leader) run(o *op) {
	if b := l.current; b != nil && b.size > maxBatch/2 {
		l.seal() // so that what an operation enters mostly comes into one batch
	}
	err := o.run(&turn{l})
	l.schedule()
	if l.idle() {
		o.done <- err
		return
	}
	b := l.batch()
	b.replies = append(b.replies, reply{to: o.done, err: err})
}

// idle reports whether everything that was entered is committed.
func (l *Leader) idle() bool { return l.current == nil && len(l.full) == 0 && len(l.flying) == 0 }

// room is the batch that is being filled, or the next one if it has no room for that many bytes more.
func (l *Leader) room(size int) *batch {
	if b := l.current; b != nil && len(b.pb.Commands) > 0 && b.size+size > maxBatch {
		l.seal()
	}
	return l.batch()
}

// seal has nothing more come into the batch that is being filled.
func (l *Leader) seal() {
	l.full = append(l.full, l.current)
	l.current = nil
}

// batch is the batch that is being filled.
func (l *Leader) batch() *batch {
	if l.current == nil {
		l.current = &batch{pb: &ledgerpb.Batch{Time: l.Now().UnixMilli()}, size: batchOverhead}
	}
	return l.current
}

// enter adds a command to the batch and applies it to the working copy.
func (l *Leader) enter(c *ledgerpb.Command) {
	ledger.Clean(c)
	size := ledger.SizeBound(c)
	b := l.room(size)
	if err := l.work.ApplyCommand(b.pb.GetTime(), c); err != nil {
		l.refused(c, err)
		return
	}
	b.pb.Commands = append(b.pb.Commands, c)
	b.size += size
}

// enterEnd enters the end of a container. Ends in a row become one command: an ApplicationMaster may give back thousands at once.
func (l *Leader) enterEnd(c *ledgerpb.Completion) {
	ledger.CleanCompletion(c)
	size := ledger.CompletionBound(c)
	b := l.room(size)
	if err := l.work.Complete(b.pb.GetTime(), c); err != nil {
		l.refused(c, err)
		return
	}
	b.size += size
	if n := len(b.pb.Commands); n > 0 && b.pb.Commands[n-1].ContainersCompleted != nil {
		last := b.pb.Commands[n-1].ContainersCompleted
		last.Completions = append(last.Completions, c)
		return
	}
	b.pb.Commands = append(b.pb.Commands, &ledgerpb.Command{
		ContainersCompleted: &ledgerpb.ContainersCompleted{Completions: []*ledgerpb.Completion{c}},
	})
}

// refused reports a command that the working copy refuses, as every member would: a defect of the leader, which must not spread.
func (l *Leader) refused(c proto.Message, err error) {
	l.Log.WithError(err).WithField("command", c).Error("the ledger refuses a command")
}

// after calls f in the loop once everything entered until now is committed.
func (l *Leader) after(f func()) {
	if l.idle() {
		f()
		return
	}
	b := l.batch()
	b.after = append(b.after, f)
}

// now is the time of the batch that is being filled, in ms since 1970.
func (l *Leader) now() int64 { return l.batch().pb.GetTime() }

// propose sends batches off while there are any and not too many are under way.
func (l *Leader) propose() {
	for len(l.flying) < maxInFlight {
		b := l.current
		switch {
		case len(l.full) > 0:
			b, l.full = l.full[0], l.full[1:]
		case b == nil:
			return
		default:
			l.current = nil
		}
		b.pb.Leadership = l.work.Leaders
		if l.work.Version > 1 {
			b.pb.Version = l.work.Version
		}
		l.flying = append(l.flying, b)
		l.proposing <- b
	}
}

// proposeAll hands batches to raft, beside the loop, as their encoding takes a while.
func (l *Leader) proposeAll() {
	defer close(l.committing)
	for b := range l.proposing {
		b.wait = func() error { return nil }
		if len(b.pb.GetCommands()) > 0 {
			b.wait = l.Propose(b.pb)
		}
		l.committing <- b
	}
}

// commitAll waits for batches in the order in which they were proposed.
func (l *Leader) commitAll() {
	for b := range l.committing {
		b.err = b.wait()
		l.settled <- b
	}
}

// settle tells everybody of a batch that is committed.
func (l *Leader) settle(b *batch) error {
	if b.err != nil {
		return fmt.Errorf("commit a batch of %d commands: %w", len(b.pb.GetCommands()), b.err)
	}
	l.flying = l.flying[1:]
	for _, f := range b.after {
		f()
	}
	for _, r := range b.replies {
		r.to <- r.err
	}
	return nil
}

// abandon answers everybody who waits for a batch that this leader will not see committed.
func (l *Leader) abandon() {
	for _, b := range append(slices.Concat(l.flying, l.full), l.current) {
		if b == nil {
			continue
		}
		for _, r := range b.replies {
			r.to <- ErrDeposed
		}
	}
}

// do has the loop run an operation, and returns when it is committed. It can't be given up: an operation that was begun
// must find its caller.
func (l *Leader) do(run func(*turn) error) error {
	o := &op{run: run, done: make(chan error, 1)}
	select {
	case l.ops <- o:
	case <-l.ended:
		return ErrDeposed
	}
	select {
	case err := <-o.done:
		return err
	case <-l.ended:
		select {
		case err := <-o.done:
			return err
		default:
			return ErrDeposed
		}
	}
}

// goDo runs a call to a node beside the loop; it must end when the context does.
func (l *Leader) goDo(f func(ctx context.Context)) {
	l.background.Go(func() { f(l.ctx) })
}

// Done is closed when the leader leads no more.
func (l *Leader) Done() <-chan struct{} { return l.ended }
