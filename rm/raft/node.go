package raft

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	hraft "github.com/hashicorp/raft"
	"github.com/sirupsen/logrus"

	"heddle/rm/raft/compact"
	"heddle/rm/raft/feed"
)

// ErrNotLeader is returned to proposals of a member that doesn't lead, or leads no more. It is then unknown whether the proposal
// was committed.
var ErrNotLeader = errors.New("this member does not lead the cluster")

// ErrClosed is returned after the node was closed.
var ErrClosed = errors.New("raft node is closed")

// FSM is the state machine that the log's entries are applied to. Calls are never concurrent, except for the writing of a snapshot.
type FSM interface {
	// Apply applies a committed entry. Its result goes to the Proposal of the member that proposed it.
	Apply(Entry) any
	// Snapshot captures the state. The returned function writes it while Apply continues.
	Snapshot() (func(io.Writer) error, error)
	// Restore replaces the state by a snapshot.
	Restore(io.Reader) error
}

// Entry is an entry of the log.
type Entry struct {
	Data []byte // not empty
	// Source is what Data was made from, for callers that don't want to decode it. Only the member that proposed the entry has it,
	// and not after a restart; otherwise it is nil.
	Source any
	// Index is the entry's place in the log, the same at all members. Proposers leave it 0.
	Index uint64
}

// Member is a ResourceManager of the group, or its witness (WitnessID).
type Member struct {
	ID      string // of yarn.resourcemanager.ha.rm-ids
	Address string // host:port of its raft transport
}

// Config configures a Node. Durations of 0 mean hashicorp/raft's defaults.
type Config struct {
	ID      string   // of this member
	Cluster string   // members of clusters with other names are refused
	Members []Member // the group as configured, this member included
	Version string   // the release that this member runs, for other members to see
	Dir     string   // folder of log and snapshots; owned by this node alone

	HeartbeatTimeout time.Duration // silence of the leader after which a follower stands for election
	ElectionTimeout  time.Duration
	LeaseTimeout     time.Duration // silence of the followers after which a leader steps down; ≤ HeartbeatTimeout
	SnapshotInterval time.Duration
	// SnapshotThreshold is the number of entries after which a snapshot is taken, TrailingLogs the number of entries kept for
	// followers that lag.
	SnapshotThreshold uint64
	TrailingLogs      uint64
	Disk              compact.Config // what the log may take of it

	// AwaitFull lets nothing be committed by a leader and the witness alone: entries wait until another full member has them.
	AwaitFull bool
	// NeverLead names members that hand leadership over as long as another member can lead, and don't stand for election where one may.
	NeverLead []string

	Listener net.Listener // where other members connect; closed with the node. nil for a group of one
	TLS      *tls.Config  // from CertificateTLS or SecretTLS; nil is plain, which reaches members on this machine only
	Log      *logrus.Entry

	disk         func(*disk)   // lets tests make it fail
	diskPatience time.Duration // 0 for the default
}

// Node is a member of the group.
//
// It has many methods because a member's log, membership, transfer and proposals share its locks.
type Node struct {
	cfg       Config
	raft      *hraft.Raft
	up        chan struct{} // closed when raft runs
	opened    time.Time     // when that was
	log       *store
	snapshots hraft.SnapshotStore
	stream    *stream // nil in a group of one
	transport transport
	keeper    *compact.Keeper
	network   *peers // nil in a group of one
	pace      *feed.Pace
	impasse   atomic.Pointer[string]
	dir       *folder
	memory    *memory
	poked     chan struct{} // receives when a member shows that the group's record is out of date
	terms     *terms
	down      chan struct{} // closed when raft has stopped, or does nothing more
	halt      func()        // closes down
	shutdown  func() hraft.Future
	flying    flying
	sources   sources
	surveys   surveys
	waiting   atomic.Pointer[string] // why this member has no part in a group yet
	// gate blocks proposals while leadership is handed over.
	gate         sync.RWMutex
	transferring sync.Mutex
	// background counts goroutines that Close ends and waits for.
	background sync.WaitGroup
	ending     context.CancelFunc
}

// Open starts the member and returns at once. The group forms when all Members are up for the first time and have no state; it elects
// a leader when a majority is up. Later the group's own record counts, which the leader updates
// from Members (KeepMembers).
func Open(cfg Config, fsm FSM) (*Node, error) {
	dir, err := lockDir(cfg.Dir, identity{Role: "rm", ID: cfg.ID, Cluster: cfg.Cluster})
	if err != nil {
		return nil, err
	}
	n := &Node{
		cfg: cfg, dir: dir, up: make(chan struct{}), down: make(chan struct{}), poked: make(chan struct{}, 1), ending: func() {},
	}
	n.halt = sync.OnceFunc(func() { close(n.down) })
	n.shutdown = sync.OnceValue(func() hraft.Future { return n.raft.Shutdown() }) // a second future wouldn't wait
	if err := n.open(fsm); err != nil {
		n.ending()
		n.halt()
		n.release()
		return nil, fmt.Errorf("raft member %s in %s: %w", cfg.ID, cfg.Dir, err)
	}
	return n, nil
}

func (n *Node) open(fsm FSM) error {
	logger := newLogger(n.cfg.Log)
	var err error
	if n.memory, err = openMemory(n.cfg.Dir, n.cfg.Log); err != nil {
		return err
	}
	if err := openLog(n, logger); err != nil {
		return err
	}
	n.transport = n.newTransport(logger)
	if n.stream != nil {
		n.background.Go(n.stream.serve) // it answers questions, also those of members that start, and lets raft's messages wait
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.ending = cancel
	if err := recall(ctx, n, logger); err != nil {
		return err
	}
	if err := n.enter(); err != nil {
		return err
	}
	n.terms = newTerms()
	n.log.patience = cmp.Or(n.cfg.diskPatience, diskPatience)
	n.log.hangs, n.log.cuts, n.log.stored = n.diskHangs, n.cuts, n.memory.Stored
	n.keeper = compact.NewKeeper(n.cfg.Disk, n.cfg.Dir, n.log.segments, n.log, n.snapshots, n.cfg.Log)
	conf := n.cfg.raft(n.dir.identity().serverID())
	conf.Logger = logger
	conf.NotifyCh = n.terms.in
	if n.raft, err = hraft.NewRaft(conf, adapter{fsm, n}, n.log, n.log, n.keeper.Store(), n.transport); err != nil {
		return err
	}
	n.memory.raft.Store(n.raft)
	n.opened = time.Now()
	close(n.up)
	go n.terms.pump()
	n.background.Go(func() { n.memory.keep(ctx.Done()) })
	if err := n.checkAlone(); err != nil {
		n.terms.close()
		return errors.Join(err, n.raft.Shutdown().Error())
	}
	n.background.Go(func() { n.keeper.Run(ctx, n.raft, conf.TrailingLogs) })
	n.background.Go(func() { n.keeper.Watch(ctx) })
	if n.stream != nil {
		n.background.Go(func() { n.form(ctx) })
		n.background.Go(func() { n.watchImpasse(ctx) })
	}
	return nil
}

// logName is the folder of the log.
const logName = "log"

// openLog opens the log and the snapshots.
func openLog(n *Node, logger hclog.Logger) error {
	logDir := filepath.Join(n.cfg.Dir, logName)
	d := diskAt(logDir)
	if n.cfg.disk != nil {
		n.cfg.disk(&d)
	}
	var err error
	if n.log, err = openStore(logDir, d, logger); err != nil {
		return err
	}
	if n.snapshots, err = hraft.NewFileSnapshotStoreWithLogger(n.cfg.Dir, 2, logger); err != nil {
		return fmt.Errorf("open the snapshots: %w", err)
	}
	return nil
}

// checkAlone refuses to start a single member with the state of a group of several: it would wait for the others
// for ever.
func (n *Node) checkAlone() error {
	if len(n.cfg.Members) > 1 {
		return nil
	}
	var others []string
	for _, s := range n.raft.GetConfiguration().Configuration().Servers {
		if id := bareID(s.ID); id != n.cfg.ID {
			others = append(others, id)
		}
	}
	if len(others) == 0 {
		return nil
	}
	return fmt.Errorf("the state belongs to a group that includes %v, which the configuration lacks: first name them in yarn.resourcemanager.ha.rm-ids again, then "+
		"remove them from the group (heddle rmadmin -removeMember <id>) and from the configuration", others)
}

// Failed returns a channel that is closed when the log can't be written any more. The member then does nothing more: restart its process
// when the cause (Failure) is gone.
func (n *Node) Failed() <-chan struct{} { return n.log.failed }

// Failure returns why the log can't be written, nil if it can.
func (n *Node) Failure() error { return n.log.failure() }

// transport carries raft's messages.
type transport interface {
	hraft.Transport
	Close() error
}

func (n *Node) newTransport(logger hclog.Logger) transport {
	advertised := n.cfg.member(n.cfg.ID).Address
	if n.cfg.Listener == nil {
		_, t := hraft.NewInmemTransport(hraft.ServerAddress(advertised))
		return t
	}
	n.stream = newStream(&n.cfg, advertised, n)
	n.network = newPeers(newNetwork(n.stream, logger), n.memory)
	n.network.mayStand = n.mayStand
	n.pace = feed.NewPace(n.cfg.paceTimes(), !n.cfg.AwaitFull)
	return feed.NewTransport(n.network, n.pace, func(id hraft.ServerID) bool { return isWitness(bareID(id)) }, n.otherFull)
}

func newNetwork(s *stream, logger hclog.Logger) *hraft.NetworkTransport {
	return hraft.NewNetworkTransportWithConfig(&hraft.NetworkTransportConfig{
		Stream:  s,
		MaxPool: 3,
		Timeout: 10 * time.Second,
		Logger:  logger,
		// One request at a time, each with all entries up to MaxAppendEntries: with two under way, a leader may wait for ever after one has
		// failed (hashicorp/raft issue 612). The member then gets heartbeats but no entries, and the leader can't be closed.
		MaxRPCsInFlight: 1,
	})
}

func (c *Config) member(id string) Member {
	for _, m := range c.Members {
		if m.ID == id {
			return m
		}
	}
	return Member{ID: id}
}

func (c *Config) raft(self hraft.ServerID) *hraft.Config {
	out := hraft.DefaultConfig()
	out.LocalID = self
	// With a buffered channel (BatchApplyCh) a proposal that races with the shutdown is accepted and never answered.
	out.MaxAppendEntries = 64 // each at most MaxEntry
	set := func(to *time.Duration, v time.Duration) {
		if v > 0 {
			*to = v
		}
	}
	set(&out.HeartbeatTimeout, c.HeartbeatTimeout)
	set(&out.ElectionTimeout, c.ElectionTimeout)
	set(&out.LeaderLeaseTimeout, c.LeaseTimeout)
	set(&out.SnapshotInterval, c.SnapshotInterval)
	if c.SnapshotThreshold > 0 {
		out.SnapshotThreshold = c.SnapshotThreshold
	}
	if c.TrailingLogs > 0 {
		out.TrailingLogs = c.TrailingLogs
	}
	return out
}

func translate(err error) error {
	switch {
	case errors.Is(err, hraft.ErrRaftShutdown):
		return ErrClosed
	case errors.Is(err, hraft.ErrNotLeader), errors.Is(err, hraft.ErrLeadershipLost),
		errors.Is(err, hraft.ErrLeadershipTransferInProgress), errors.Is(err, hraft.ErrAbortedByRestore):
		return fmt.Errorf("%w: %w", ErrNotLeader, err)
	}
	return err
}

// Terms delivers a context for each term that this member leads, in order. The context ends when the member stops leading.
func (n *Node) Terms() <-chan context.Context { return n.terms.out }

// Barrier waits until all entries that were committed before are applied here. Only a leader can call it.
func (n *Node) Barrier() error { return n.await(n.raft.Barrier(0)) }

// VerifyLeader asks a majority whether this member still leads.
func (n *Node) VerifyLeader() error { return n.await(n.raft.VerifyLeader()) }

// IsLeader reports whether this member leads, as far as it knows.
func (n *Node) IsLeader() bool { return n.raft.State() == hraft.Leader && n.Failure() == nil }

// Leader returns the id of the leading member, "" if none is known.
func (n *Node) Leader() string {
	_, id := n.raft.LeaderWithID()
	return bareID(id)
}

// LastContact returns when this member last heard from a leader; the zero time if never.
func (n *Node) LastContact() time.Time { return n.raft.LastContact() }

// Space describes the disk of the log and the snapshots, as it was within the last second.
func (n *Node) Space() compact.Space { return n.keeper.Space() }

// Stats returns hashicorp/raft's own figures: term, last_log_index, commit_index, applied_index, …
func (n *Node) Stats() map[string]string { return n.raft.Stats() }

// closingPatience is how long a stopping leader looks for a successor.
const closingPatience = 5 * time.Second

// Close stops the member. A leader hands leadership over first. Proposals under way are answered.
func (n *Node) Close() error {
	n.ending()
	if n.IsLeader() && n.stream != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closingPatience)
		if err := n.Transfer(ctx, ""); err != nil {
			n.cfg.Log.WithError(err).Info("stopping without having handed leadership over")
		}
		cancel()
	}
	n.flying.land(landingPatience)
	stopped, err := n.stopRaft()
	if !stopped {
		return err
	}
	n.halt()
	n.terms.close()
	return errors.Join(err, n.release())
}

func (n *Node) release() error {
	var errs []error
	if n.transport != nil {
		errs = append(errs, n.transport.Close())
	}
	if n.stream != nil {
		errs = append(errs, n.stream.Close())
	}
	n.background.Wait() // what measures the log may still read it, and raft-wal panics if it is closed meanwhile
	if n.log != nil {
		errs = append(errs, n.log.Close())
	}
	if n.memory != nil {
		errs = append(errs, n.memory.close())
	}
	return errors.Join(append(errs, n.dir.close())...)
}

type adapter struct {
	FSM
	node *Node
}

func (a adapter) Apply(l *hraft.Log) any {
	return a.FSM.Apply(Entry{l.Data, a.node.sources.of(l.Data), l.Index})
}

func (a adapter) Snapshot() (hraft.FSMSnapshot, error) {
	write, err := a.FSM.Snapshot()
	return snapshot(write), err
}

func (a adapter) Restore(r io.ReadCloser) error {
	return errors.Join(a.FSM.Restore(r), r.Close())
}

type snapshot func(io.Writer) error

func (s snapshot) Persist(sink hraft.SnapshotSink) error {
	if err := s(sink); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

func (snapshot) Release() {}
