package raft

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	hraft "github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/metadb"
	"github.com/sirupsen/logrus"
)

// ErrNotLeader is returned to proposals of a member that doesn't lead (any more). Whether the proposal came into effect
// is then unknown.
var ErrNotLeader = errors.New("this member does not lead the cluster")

// ErrClosed is returned once the node was closed.
var ErrClosed = errors.New("raft node is closed")

// FSM is what the log's entries are applied to. Calls are never concurrent, except for the writing of a snapshot.
type FSM interface {
	// Apply takes a committed entry into account; its result goes to the Proposal of the member that proposed it.
	Apply(Entry) any
	// Snapshot captures the state; the function it returns writes it while Apply goes on.
	Snapshot() (func(io.Writer) error, error)
	// Restore replaces the state by a snapshot.
	Restore(io.Reader) error
}

// Entry is one of the log's.
type Entry struct {
	Data []byte // not empty
	// Source is what Data was made from, for who doesn't want to decode it. Only the member that has proposed the entry knows it,
	// and that not after a restart; elsewhere it is nil.
	Source any
}

// Member is a ResourceManager of the group.
type Member struct {
	ID      string // of yarn.resourcemanager.ha.rm-ids
	Address string // host:port of its raft transport
}

// Config is what a Node needs. Durations of 0 take hashicorp/raft's defaults.
type Config struct {
	ID      string   // of this member
	Cluster string   // members of clusters with other names are refused
	Members []Member // the group as configured, this member included
	Dir     string   // where log and snapshots live; owned by this node alone

	HeartbeatTimeout time.Duration // silence of the leader after which a follower stands for election
	ElectionTimeout  time.Duration
	LeaseTimeout     time.Duration // silence of the followers after which a leader steps down; ≤ HeartbeatTimeout
	SnapshotInterval time.Duration
	// SnapshotThreshold is the number of entries after which a snapshot is taken, TrailingLogs the number kept for
	// followers that lag.
	SnapshotThreshold uint64
	TrailingLogs      uint64

	Listener net.Listener // where other members connect to; closed with the node. nil for a group of one
	TLS      *tls.Config  // nil = plain
	Log      *logrus.Entry
}

// Node is a member of the group.
type Node struct {
	cfg       Config
	raft      *hraft.Raft
	log       *wal.WAL
	logMeta   *metadb.BoltMetaDB
	transport transport
	lock      *os.File
	terms     *terms
	down      chan struct{} // closed when raft has stopped
	flying    flying
	sources   sources
}

// Open starts the member and returns at once; the group elects a leader when a majority is up. A member that starts for
// the first time forms the group with Members; later the group's own record counts, which the leader brings up to date
// with Members' addresses.
func Open(cfg Config, fsm FSM) (*Node, error) {
	lock, err := lockDir(cfg.Dir, identity{Role: "rm", ID: cfg.ID, Cluster: cfg.Cluster})
	if err != nil {
		return nil, err
	}
	n := &Node{cfg: cfg, lock: lock, down: make(chan struct{})}
	if err := n.open(fsm); err != nil {
		n.release()
		return nil, fmt.Errorf("raft member %s in %s: %w", cfg.ID, cfg.Dir, err)
	}
	return n, nil
}

func (n *Node) open(fsm FSM) error {
	logger := newLogger(n.cfg.Log)
	dir := filepath.Join(n.cfg.Dir, "log")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var err error
	// the log doesn't close its own metadata, which would stay locked
	n.logMeta = &metadb.BoltMetaDB{}
	if n.log, err = wal.Open(dir, wal.WithMetaStore(n.logMeta)); err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	snapshots, err := hraft.NewFileSnapshotStoreWithLogger(n.cfg.Dir, 2, logger)
	if err != nil {
		return fmt.Errorf("open the snapshots: %w", err)
	}
	n.transport = n.newTransport(logger)
	n.terms = newTerms()
	conf := n.raftConfig()
	conf.Logger = logger
	conf.NotifyCh = n.terms.in
	if err := n.bootstrap(conf, snapshots); err != nil {
		return err
	}
	if n.raft, err = hraft.NewRaft(conf, adapter{fsm, &n.sources}, n.log, n.log, snapshots, n.transport); err != nil {
		return err
	}
	go n.terms.pump()
	return nil
}

// transport carries raft's messages.
type transport interface {
	hraft.Transport
	Close() error
}

func (n *Node) newTransport(logger hclog.Logger) transport {
	advertised := n.member(n.cfg.ID).Address
	if n.cfg.Listener == nil {
		_, t := hraft.NewInmemTransport(hraft.ServerAddress(advertised))
		return t
	}
	return hraft.NewNetworkTransportWithConfig(&hraft.NetworkTransportConfig{
		Stream:  newStream(&n.cfg, advertised),
		MaxPool: 3,
		Timeout: 10 * time.Second,
		Logger:  logger,
	})
}

func (n *Node) member(id string) Member {
	for _, m := range n.cfg.Members {
		if m.ID == id {
			return m
		}
	}
	return Member{ID: id}
}

func (n *Node) raftConfig() *hraft.Config {
	c := hraft.DefaultConfig()
	c.LocalID = hraft.ServerID(n.cfg.ID)
	// With a buffered channel (BatchApplyCh) a proposal that races with the shutdown is taken and never answered.
	c.MaxAppendEntries = 64 // of MaxEntry at most
	set := func(to *time.Duration, v time.Duration) {
		if v > 0 {
			*to = v
		}
	}
	set(&c.HeartbeatTimeout, n.cfg.HeartbeatTimeout)
	set(&c.ElectionTimeout, n.cfg.ElectionTimeout)
	set(&c.LeaderLeaseTimeout, n.cfg.LeaseTimeout)
	set(&c.SnapshotInterval, n.cfg.SnapshotInterval)
	if n.cfg.SnapshotThreshold > 0 {
		c.SnapshotThreshold = n.cfg.SnapshotThreshold
	}
	if n.cfg.TrailingLogs > 0 {
		c.TrailingLogs = n.cfg.TrailingLogs
	}
	return c
}

func (n *Node) bootstrap(conf *hraft.Config, snapshots hraft.SnapshotStore) error {
	has, err := hraft.HasExistingState(n.log, n.log, snapshots)
	if err != nil || has {
		return err
	}
	var group hraft.Configuration
	for _, m := range n.cfg.Members {
		group.Servers = append(group.Servers, hraft.Server{
			ID: hraft.ServerID(m.ID), Address: hraft.ServerAddress(m.Address),
		})
	}
	if err := hraft.BootstrapCluster(conf, n.log, n.log, snapshots, n.transport, group); err != nil {
		return fmt.Errorf("form the group: %w", err)
	}
	return nil
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

// Terms delivers, in order, every time that this member begins (a context) to lead; the context ends when it ceases.
func (n *Node) Terms() <-chan context.Context { return n.terms.out }

// Barrier waits until all entries committed before are applied here. Only a leader can.
func (n *Node) Barrier() error { return n.await(n.raft.Barrier(0)) }

// VerifyLeader asks a majority whether this member still leads.
func (n *Node) VerifyLeader() error { return n.await(n.raft.VerifyLeader()) }

// IsLeader reports whether this member leads, as far as it knows.
func (n *Node) IsLeader() bool { return n.raft.State() == hraft.Leader }

// Leader returns the id of the leading member, "" if none is known.
func (n *Node) Leader() string {
	_, id := n.raft.LeaderWithID()
	return string(id)
}

// LastContact is when this member last heard from a leader; the zero time if never.
func (n *Node) LastContact() time.Time { return n.raft.LastContact() }

// MemberInfo is a member as the group's record has it.
type MemberInfo struct {
	Member
	Leader bool
	Self   bool
}

// Members lists the group as last recorded.
func (n *Node) Members() ([]MemberInfo, error) {
	f := n.raft.GetConfiguration()
	if err := f.Error(); err != nil {
		return nil, translate(err)
	}
	leader := n.Leader()
	var out []MemberInfo
	for _, s := range f.Configuration().Servers {
		out = append(out, MemberInfo{
			Member: Member{ID: string(s.ID), Address: string(s.Address)},
			Leader: string(s.ID) == leader,
			Self:   string(s.ID) == n.cfg.ID,
		})
	}
	return out, nil
}

// Stats are hashicorp/raft's own figures: term, last_log_index, commit_index, applied_index, …
func (n *Node) Stats() map[string]string { return n.raft.Stats() }

// Transfer hands leadership to a member, or with "" to the most up-to-date one. It returns when the transfer is done.
func (n *Node) Transfer(id string) error {
	if id == "" {
		return n.await(n.raft.LeadershipTransfer())
	}
	members, err := n.Members()
	if err != nil {
		return err
	}
	for _, m := range members {
		if m.ID == id {
			return n.await(n.raft.LeadershipTransferToServer(hraft.ServerID(m.ID), hraft.ServerAddress(m.Address)))
		}
	}
	return fmt.Errorf("%s is not a member of the group", id)
}

// AdoptMembers brings the group's record up to date with the configuration: members that are new in it join, addresses
// that changed are taken over. Members that the configuration lacks stay, as one outdated file must not split a group;
// Remove takes them out. Only the leader can.
func (n *Node) AdoptMembers() error {
	recorded, err := n.Members()
	if err != nil {
		return err
	}
	known := map[string]string{}
	for _, m := range recorded {
		known[m.ID] = m.Address
	}
	for _, m := range n.cfg.Members {
		if known[m.ID] == m.Address {
			continue
		}
		n.cfg.Log.WithFields(logrus.Fields{"member": m.ID, "address": m.Address, "was": known[m.ID]}).
			Info("taking a member's address over from the configuration")
		f := n.raft.AddVoter(hraft.ServerID(m.ID), hraft.ServerAddress(m.Address), 0, 10*time.Second)
		if err := f.Error(); err != nil {
			return fmt.Errorf("add member %s at %s: %w", m.ID, m.Address, translate(err))
		}
	}
	return nil
}

// Remove takes a member out of the group. Only the leader can.
func (n *Node) Remove(id string) error {
	return translate(n.raft.RemoveServer(hraft.ServerID(id), 0, 10*time.Second).Error())
}

// Close stops the member, handing leadership over first if it has it. Proposals under way are answered.
func (n *Node) Close() error {
	if n.IsLeader() && len(n.cfg.Members) > 1 {
		if err := n.Transfer(""); err != nil {
			n.cfg.Log.WithError(err).Info("stopping without having handed leadership over")
		}
	}
	n.flying.land(landingPatience)
	err := n.raft.Shutdown().Error()
	close(n.down)
	n.terms.close()
	return errors.Join(err, n.release())
}

func (n *Node) release() error {
	var errs []error
	if n.transport != nil {
		errs = append(errs, n.transport.Close())
	}
	if n.log != nil {
		errs = append(errs, n.log.Close(), n.logMeta.Close())
	}
	return errors.Join(append(errs, n.lock.Close())...)
}

type adapter struct {
	FSM
	sources *sources
}

func (a adapter) Apply(l *hraft.Log) any { return a.FSM.Apply(Entry{l.Data, a.sources.of(l.Data)}) }

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
