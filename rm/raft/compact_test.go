package raft

import (
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"

	"heddle/internal/await"
	"heddle/rm/raft/compact"
)

// last is an FSM that keeps its last entry, so that its snapshots are small.
type last struct{ register }

func (l *last) Apply(e Entry) any {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = []string{string(e.Data)}
	return nil
}

// byBytes is a single member whose log may have any number of entries, and a few segments.
func byBytes(t *testing.T) Config {
	return Config{
		ID: "rm1", Cluster: "test", Dir: t.TempDir(), Log: quiet(), Members: []Member{{ID: "rm1", Address: "127.0.0.1:1"}},
		SnapshotThreshold: 1 << 40, TrailingLogs: 1 << 40, disk: small(nil),
		Disk: compact.Config{Snapshot: 64 << 10, Trailing: 32 << 10, Retry: 20 * time.Millisecond},
	}
}

// logBytes returns the size of the log's files.
func logBytes(t *testing.T, n *Node) int64 {
	t.Helper()
	s, err := n.keeper.Measure()
	if err != nil {
		t.Fatal(err)
	}
	return s.Log
}

// Entries were counted, and their bytes were not: a log of few large ones filled the disk. Now it has at most the bytes after which a
// snapshot is due, those that are kept, and the segments at both ends; and a restart finds what was acknowledged.
func TestALogOfFewLargeEntriesStaysSmall(t *testing.T) {
	t.Parallel()
	cfg := byBytes(t)
	fsm := &last{}
	n := open(t, cfg, fsm)
	acknowledged := fill(t, n)
	if len(acknowledged) != 1000 {
		t.Fatalf("%d entries: %v", len(acknowledged), n.Failure())
	}
	const most = 64<<10 + 32<<10 + 3*(18<<10)
	await.Until(t, "the log is within its bounds", func() bool { return logBytes(t, n) <= most })
	if kept := logBytes(t, n); kept < 32<<10 {
		t.Errorf("only %d bytes are kept for members that lag", kept)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	fsm = &last{}
	n = open(t, cfg, fsm)
	defer n.Close()
	if got := fsm.all(); len(got) != 1 || got[0] != acknowledged[999] {
		t.Errorf("after a restart there are %d entries, the last acknowledged one is missing", len(got))
	}
	if kept := logBytes(t, n); kept > most {
		t.Errorf("after a restart the log has %d bytes", kept)
	}
}

// A member that was away while the others' logs were shortened by bytes gets a snapshot, and has everything.
func TestAMemberThatWasAwayGetsWhatWasRemovedByBytes(t *testing.T) {
	t.Parallel()
	members := group(t, 3, func(c *Config) {
		by := byBytes(t)
		c.SnapshotThreshold, c.TrailingLogs, c.disk, c.Disk = by.SnapshotThreshold, by.TrailingLogs, by.disk, by.Disk
	})
	t.Cleanup(func() {
		for _, m := range members {
			m.stop(t)
		}
	})
	lead, _ := leader(t, members)
	var away *member
	for _, m := range members {
		if m != lead {
			away = m
		}
	}
	await.Until(t, "all are in the group", func() bool { return away.raft.AppliedIndex() > 0 })
	away.stop(t)
	acknowledged := fill(t, lead.Node)
	if len(acknowledged) != 1000 {
		t.Fatalf("%d entries", len(acknowledged))
	}
	await.Until(t, "the log was shortened", func() bool { first, err := lead.log.FirstIndex(); return err == nil && first > 500 })
	away.cfg.Listener = listen(t, away.cfg.Listener.Addr().String())
	away.start(t)
	await.Until(t, "it has all", func() bool { return len(away.fsm.all()) >= 1000 })
	for i, want := range acknowledged {
		if got := away.fsm.all()[i]; got != want {
			t.Fatalf("entry %d is %.10q, not %.10q", i, got, want)
		}
	}
}

func TestSpaceIsLowWhereASnapshotWouldNotFit(t *testing.T) {
	t.Parallel()
	cfg := byBytes(t)
	var free atomic.Int64
	free.Store(math.MaxInt64)
	cfg.Disk.MinFree, cfg.Disk.Snapshot = 1<<20, 1<<40
	cfg.Disk.Free = func(string) (int64, error) { return free.Load(), nil }
	n := open(t, cfg, &register{})
	defer n.Close()
	fill(t, n)
	s, err := n.keeper.Measure()
	if err != nil || s.Low() || s.Log < 1000<<10 || s.Needed < 1<<20+s.Log-2*(18<<10) || s.Needed > 1<<20+s.Log {
		t.Errorf("%+v, %v", s, err)
	}
	free.Store(s.Needed - 1)
	if s, err := n.keeper.Measure(); err != nil || !s.Low() {
		t.Errorf("%+v, %v", s, err)
	}
	// Where space is low, the log is shortened although nothing else is due, and to the last segment.
	await.Until(t, "a snapshot is taken", func() bool { return n.Space().Snapshot > 0 && logBytes(t, n) <= 2*(18<<10) })
}

// A snapshot that would take the log's last space is given up, and the log goes on.
func TestASnapshotLeavesTheLogItsSpace(t *testing.T) {
	t.Parallel()
	cfg := byBytes(t)
	var free atomic.Int64
	free.Store(math.MaxInt64)
	cfg.Disk.MinFree = 1 << 20
	cfg.Disk.Free = func(string) (int64, error) { return free.Load(), nil }
	n := open(t, cfg, &register{})
	defer n.Close()
	const piece = 4 << 20 // of a snapshot between two looks at the free space
	big := strings.Repeat("x", piece)
	free.Store(cfg.Disk.MinFree/2 - 1)
	for i := range 3 {
		if _, err := n.Propose(Entry{Data: fmt.Append(nil, i, big)}).Wait(); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.await(n.raft.Snapshot()); err == nil || !strings.Contains(err.Error(), compact.ErrNoSpace.Error()) {
		t.Errorf("a snapshot was taken: %v", err)
	}
	if _, err := n.Propose(Entry{Data: []byte("more")}).Wait(); err != nil {
		t.Error(err)
	}
	free.Store(math.MaxInt64)
	await.Until(t, "a snapshot is taken once there is space", func() bool { return n.Space().Snapshot > 3*piece })
}

// A member that stops while it measures its space closes the log only when that has ended: raft-wal panics if it is closed under a reader.
func TestTheLogStaysOpenWhileItIsMeasured(t *testing.T) {
	t.Parallel()
	cfg := byBytes(t)
	measures, goOn := make(chan struct{}, 1), make(chan struct{})
	cfg.Disk.Free = func(string) (int64, error) {
		select {
		case measures <- struct{}{}:
		default:
		}
		<-goOn
		return math.MaxInt64, nil
	}
	n := open(t, cfg, &register{})
	<-measures
	closed := make(chan error, 1)
	go func() { closed <- n.Close() }()
	await.Until(t, "raft has stopped", func() bool { return n.raft.State() == hraft.Shutdown })
	for range 100 {
		if _, err := n.log.FirstIndex(); err != nil {
			t.Errorf("the log is closed under what measures it: %v", err)
			break
		}
		time.Sleep(time.Millisecond)
	}
	close(goOn)
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
