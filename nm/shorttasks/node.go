package shorttasks

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/pause"
	"heddle/nm/probe"
	"heddle/yarn/ipc"
	"heddle/yarn/records"
	"heddle/yarn/token"
	"heddle/yarn/wire"
)

// Options of a Node. All must be set but for Bounds, Share, Steal, Stager and Now.
type Options struct {
	// Listener is where schedulers and executors connect. The Node closes it.
	Listener net.Listener
	// Bearer returns who may bear an NMToken for this node, and its password. It refuses other tokens.
	Bearer func(identifier []byte) (ipc.Bearer, error)
	// Admitted notes that an attempt works here with the key of its token.
	Admitted  func(token.NM) error
	Executors Executors
	// Bounds holds executors together to what is lent; nil: nothing does.
	Bounds Bounds
	// Share returns a user's share where several wait; nil: all have the same.
	Share func(user string) Share
	// Steal has schedulers told of room while nothing waits, so that they send probes of what waits elsewhere.
	Steal bool
	// Stager copies inputs of waiting tasks to memory; nil: none are copied.
	Stager Stager
	Log    *logrus.Entry
	Now    func() time.Time // time.Now if nil
}

// Share is a user's part of a node.
type Share struct {
	Weight   float64 // values that aren't positive numbers stand for 1
	Priority int32   // higher goes first, strictly
}

// Executors starts executors.
type Executors interface {
	// Start starts an executor, which is to connect to the Node's listener. It doesn't wait for that. ended is called once, from
	// any goroutine, when the executor and all that it has started are gone; stop ends it. Neither is called if Start fails.
	Start(x Executor, ended func(why string)) (stop func(), err error)
	// Resize says that the tasks of an executor may take another amount together. Of several calls that with the highest version holds. It may block.
	Resize(x Executor, version int32)
}

// Executor is an executor to be started.
type Executor struct {
	ID     records.ContainerID // by which it introduces itself
	User   string
	Tokens []token.NamedToken // of file systems, for its tasks and its logs
	Secret []byte
	Most   probe.Amount // what its tasks may take together
	Slots  int
}

// Limits of what schedulers may do to a node.
const (
	maxProbes     = 20000 // in the queue
	maxOfUser     = 10000
	reserved      = 100   // of a user, if others have filled the queue
	maxLooked     = 512   // are compared to find the one that is next
	maxJobs       = 10000 // of a scheduler
	maxSchedulers = 1000
	// One user's schedulers don't keep those of others out.
	maxSchedulersOfUser = 500
	reservedSchedulers  = 10
	// answerLimit is how long a scheduler may take to answer an ask: the room for the task is idle meanwhile.
	answerLimit = 2 * time.Second
	// idleLimit is how long an executor is kept that has nothing to do.
	idleLimit = 10 * time.Second
	// endedKept is how long the node remembers that an application is over: the key of its token may be good for longer than its own life.
	endedKept = 25 * time.Hour
	maxEnded  = 100000
	sweepTime = 250 * time.Millisecond
)

// starvationBound is Eagle's: a probe may be overtaken until the estimates that passed it add up to so many times its own.
const starvationBound = 5

// Node is the queue of a node, with its schedulers and executors. Its methods may be called from any goroutine.
type Node struct {
	o        Options
	log      *logrus.Entry
	began    time.Time
	accepter *wire.Accepter
	ctx      context.Context
	cancel   context.CancelFunc
	serving  sync.WaitGroup

	mu         sync.Mutex
	jobs       probe.Jobs
	worker     *probe.Worker
	of         []*job // by Handle
	runs       []*run // by Slot
	schedulers map[identity]*scheduler
	untold     map[*scheduler]bool  // schedulers that must be told of room
	executors  map[string]*executor // by name, also those that haven't come yet
	users      map[string]int32
	ended      map[records.ApplicationID]time.Time
	nextID     int64
	counts     Counts
	pace       pace
	staged     *staged // nil: nothing is
	bound      bound
	strangers  int // that weren't let in since the log has told of one
	told       time.Time
}

// Counts are of all that was since a Node began.
type Counts struct {
	Started int64         // tasks
	Waited  time.Duration // by these together, since they were submitted
	// Quotes are those that have come true or not, and Broken those that have not: an ask came after the 95th percentile of its quote.
	Quotes, Broken int64
	// Hits are tasks whose input was in memory when they started, and Misses those that have named one that wasn't.
	Hits, Misses int64
	// Promises are quotes that an input would be in memory, of which it is known whether it was, and Unkept those of which it was not.
	Promises, Unkept int64
	Avoided          int64 // probes that were rejected because long tasks run here
}

// Since returns what has come since earlier Counts.
func (c Counts) Since(before Counts) Counts {
	return Counts{c.Started - before.Started, c.Waited - before.Waited, c.Quotes - before.Quotes, c.Broken - before.Broken, c.Hits - before.Hits, c.Misses - before.Misses, c.Promises - before.Promises, c.Unkept - before.Unkept, c.Avoided - before.Avoided}
}

// identity tells schedulers apart.
type identity struct {
	attempt records.AttemptID
	name    string
}

// New returns a Node that was lent nothing yet, and serves until Close.
func New(o Options) *Node {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Share == nil {
		o.Share = func(string) Share { return Share{} }
	}
	n := &Node{
		o: o, log: o.Log, began: o.Now(), schedulers: map[identity]*scheduler{}, untold: map[*scheduler]bool{},
		executors: map[string]*executor{}, users: map[string]int32{},
		ended: map[records.ApplicationID]time.Time{}, nextID: firstID(o.Now()), staged: newStaged(o.Stager),
	}
	cfg := &probe.Config{
		Ranking: probe.Shortest, Bound: starvationBound, Sticky: true, Late: true, Fitting: true, Probes: maxProbes,
		PerUser: maxOfUser, Reserved: reserved,
		Looked: maxLooked, Counted: true, Least: probe.Amount{MemoryMB: 1, VCores: 1},
	}
	n.worker = probe.New(cfg, &n.jobs, probe.Amount{})
	n.accepter = wire.NewNamedAccepter(n.secret)
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.serving.Go(n.accept)
	n.serving.Go(n.sweep)
	return n
}

// Close ends all connections and executors, and returns when the connections have ended.
func (n *Node) Close() {
	n.cancel()
	n.o.Listener.Close()
	n.serving.Wait()
}

// Port returns where the node listens.
func (n *Node) Port() int { return n.o.Listener.Addr().(*net.TCPAddr).Port }

// now returns the time for the queue.
func (n *Node) now() time.Duration { return n.o.Now().Sub(n.began) }

// Lend sets what the node may use for short tasks. Tasks that run continue, and probes whose tasks can't fit any more are given back.
func (n *Node) Lend(a probe.Amount) {
	n.mu.Lock()
	if lent, _ := n.worker.Use(); lent == a {
		n.mu.Unlock()
		return
	}
	n.worker.Lend(a)
	n.recall()
	n.resize()
	n.hold()
	for _, h := range n.worker.Evict(nil) {
		j := n.of[h]
		j.s.say(&wire.Verdict{Job: j.id, GaveBack: 1, Reason: probe.TooLarge.String()})
	}
	for _, s := range n.schedulers {
		s.say(lent(a))
	}
	n.pump()
	n.mu.Unlock()
}

// SetLong says whether containers with long tasks run on the node: it rejects probes that ask for that then. Those that wait already stay.
func (n *Node) SetLong(has bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.worker.SetLongOutside(has)
}

// Use returns what the node may use for short tasks, what they use of it, and how many probes wait. The memory is that of the processes, if they use more than tasks
// were given.
func (n *Node) Use() (lent, used probe.Amount, waiting int) {
	n.mu.Lock()
	lent, used = n.worker.Use()
	_, waiting = n.worker.Queued()
	bound := n.bound.now
	n.mu.Unlock()
	used.MemoryMB = n.measured(lent.MemoryMB, used.MemoryMB, bound.MemoryMB)
	return lent, used, waiting
}

// Counts returns what has happened so far.
func (n *Node) Counts() Counts {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.counts
	if n.staged != nil {
		c.Promises, c.Unkept = n.staged.promises.Made, n.staged.promises.Broken
	}
	return c
}

// EndApplication ends what there is of an application, for good.
func (n *Node) EndApplication(app records.ApplicationID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.ended) >= maxEnded {
		clear(n.ended)
	}
	n.ended[app] = n.o.Now()
	for id, s := range n.schedulers {
		if id.attempt.App == app {
			s.refuse("the application is over")
		}
	}
}

// secret returns the secret of the connecting peer.
func (n *Node) secret(name []byte) ([]byte, error) {
	n.mu.Lock()
	x := n.executors[string(name)]
	n.mu.Unlock()
	if x != nil {
		return x.secret, nil
	}
	b, err := n.o.Bearer(name)
	if err != nil {
		return nil, fmt.Errorf("this node's probes: %w", err)
	}
	return wire.SecretOf(b.Password), nil
}

// acceptPause is the time between attempts to accept a connection.
const acceptPause = 100 * time.Millisecond

func (n *Node) accept() {
	for {
		raw, err := n.o.Listener.Accept()
		if err != nil {
			if n.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			n.log.WithError(err).Warn("can't accept a connection for probes")
			_ = pause.For(n.ctx, acceptPause) // Accept fails when the node is closed
			continue
		}
		n.serving.Go(func() {
			c, name, err := n.accepter.Accept(n.ctx, raw)
			if err != nil {
				n.complain(err)
				return
			}
			defer c.Close()
			defer context.AfterFunc(n.ctx, c.Close)()
			n.serve(c, name)
		})
	}
}

// complain logs that a caller wasn't let in: at most a line a second, whatever strangers do.
func (n *Node) complain(err error) {
	n.mu.Lock()
	n.strangers++
	count, now := n.strangers, n.o.Now()
	quiet := !n.told.IsZero() && now.Sub(n.told) < time.Second
	if !quiet {
		n.told, n.strangers = now, 0
	}
	n.mu.Unlock()
	if !quiet {
		n.log.WithError(err).WithField("refused", count).Info("refused a connection for probes")
	}
}

// serve talks to a scheduler or an executor, which have proved who they are.
func (n *Node) serve(c *wire.Conn, name []byte) {
	n.mu.Lock()
	x := n.executors[string(name)]
	n.mu.Unlock()
	if x != nil {
		n.serveExecutor(c, x)
		return
	}
	b, err := n.o.Bearer(name)
	who, ok := b.Identifier.(token.NM)
	if err != nil || !ok {
		return // its key has gone meanwhile
	}
	if err := n.serveScheduler(c, who); err != nil {
		n.log.WithError(err).WithField("application", who.Attempt.App.String()).Info("a scheduler of short tasks is gone")
	}
}

// sweep does what is to be done from time to time.
func (n *Node) sweep() {
	for pause.For(n.ctx, sweepTime) == nil {
		n.look()
		n.endStopped()
	}
}

// look looks what is late, and forgets what is over.
func (n *Node) look() {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.o.Now()
	if n.staged != nil && n.staged.promises.Size(n.now(), n.staged.rules) {
		n.doStaging() // there may be more at a time
	}
	for _, s := range n.schedulers {
		s.check(now)
	}
	n.age()
	n.resize()
	n.hold()
	n.jobs.Sweep(func(h probe.Handle) {
		j := n.of[h]
		j.dropInputs()
		if n.of[h] = nil; j.s.jobs[j.id] == j {
			delete(j.s.jobs, j.id)
		}
	})
	for app, at := range n.ended {
		if now.Sub(at) > endedKept {
			delete(n.ended, app)
		}
	}
}
