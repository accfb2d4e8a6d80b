// Package compact bounds the disk that a member's log takes, and knows how much space is left on it.
//
// hashicorp/raft counts entries: it takes a snapshot after so many, looks every few minutes, and keeps so many behind it. An entry may have
// a megabyte and more, so that the log could fill any disk meanwhile. A Keeper goes by bytes as well. Whenever a segment of the log is
// full, it asks raft for a snapshot if the segments since the last one have too many bytes, and to keep no more entries than fit into
// another number of bytes. It does the same when little space is left on the disk, and keeps nothing then that the snapshot has: members
// that lag get the snapshot.
//
// rm/raft is the only caller.
package compact

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	hraft "github.com/hashicorp/raft"
	"github.com/sirupsen/logrus"
)

const (
	// retryInterval is the time between two attempts to take a snapshot that is due.
	retryInterval = 10 * time.Second
	// largeSnapshot is how much smaller, in bytes, a new snapshot must be than the kept one before it for that one to be worth replacing.
	largeSnapshot = 8 << 20

	defaultSnapshotBytes = 256 << 20
	defaultTrailingBytes = 128 << 20
)

// Config says how much disk a log may take, in bytes.
type Config struct {
	// Snapshot is the size of the log's full segments after which a snapshot is taken, and Trailing the size of those that are kept
	// behind a snapshot at most; 0 is a default.
	Snapshot, Trailing int64
	// MinFree is how many bytes should be free on the file system, besides the size of a snapshot; 0 asks for none.
	MinFree int64

	Free  func(dir string) (int64, error) // the free space of a folder's file system; nil is the real one
	Retry time.Duration                   // 0 for the default
}

// Raft is what a Keeper needs of hashicorp/raft (*hraft.Raft).
type Raft interface {
	Snapshot() hraft.SnapshotFuture
	AppliedIndex() uint64
	ReloadableConfig() hraft.ReloadableConfig
	ReloadConfig(hraft.ReloadableConfig) error
}

// Log is what a Keeper needs of a log: its first and its last entry, 0 if it is empty.
type Log interface {
	FirstIndex() (uint64, error)
	LastIndex() (uint64, error)
}

// Keeper keeps the log of a member short. Its methods are safe for concurrent use.
type Keeper struct {
	cfg       Config
	dir       string
	segments  *Segments
	log       Log
	snapshots hraft.SnapshotStore
	entry     *logrus.Entry
	space     atomic.Pointer[Space]
	last      atomic.Pointer[point]
}

// point is the newest snapshot: its last entry, and its size in bytes.
type point struct {
	index uint64
	size  int64
}

// NewKeeper makes a keeper for a log with segments, and for snapshots in a folder.
func NewKeeper(cfg Config, dir string, segments *Segments, log Log, snapshots hraft.SnapshotStore, entry *logrus.Entry) *Keeper {
	if cfg.Snapshot == 0 {
		cfg.Snapshot = defaultSnapshotBytes
	}
	if cfg.Trailing == 0 {
		cfg.Trailing = defaultTrailingBytes
	}
	if cfg.Free == nil {
		cfg.Free = freeSpace
	}
	if cfg.Retry == 0 {
		cfg.Retry = retryInterval
	}
	k := &Keeper{cfg: cfg, dir: dir, segments: segments, log: log, snapshots: snapshots, entry: entry}
	k.last.Store(&point{})
	k.noteSnapshot()
	return k
}

// Run keeps the log within its bounds until ctx ends. trailing is how many entries raft is to keep if their bytes allow it.
func (k *Keeper) Run(ctx context.Context, raft Raft, trailing uint64) {
	retry := time.NewTicker(k.cfg.Retry)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.segments.begun:
		case <-retry.C:
		}
		k.noteSnapshot()
		if s, err := k.Measure(); k.overdue(raft, trailing, err == nil && s.Low()) {
			k.takeSnapshot(ctx, raft)
		}
	}
}

// noteSnapshot brings last up to date.
func (k *Keeper) noteSnapshot() {
	list, err := k.snapshots.List()
	if err != nil || len(list) == 0 {
		return // then it counts as not taken, and the next one is larger on paper
	}
	k.last.Store(&point{list[0].Index, list[0].Size})
}

// overdue reports whether a snapshot should be taken now, and sets how many entries raft keeps behind it. low says that little
// space is left.
func (k *Keeper) overdue(raft Raft, trailing uint64, low bool) bool {
	first, err := k.log.FirstIndex()
	if err != nil {
		return false
	}
	last, err := k.log.LastIndex()
	if err != nil || last == 0 {
		return false
	}
	keep := k.cfg.Trailing
	if low {
		keep = 0
	}
	k.setTrailing(raft, min(trailing, k.segments.lastWithin(first, last, keep)))
	if low {
		return k.segments.after(first, 0) > 0 || k.replaceable(raft)
	}
	return k.segments.after(first, k.last.Load().index) >= k.cfg.Snapshot
}

// replaceable reports whether the log has entries behind the last snapshot, and kept snapshots are much larger than a new one may be.
func (k *Keeper) replaceable(raft Raft) bool {
	list, err := k.snapshots.List()
	if err != nil || len(list) == 0 || list[0].Index >= raft.AppliedIndex() {
		return false
	}
	return len(list) > 1 && list[1].Size > list[0].Size+largeSnapshot
}

// setTrailing sets how many entries raft keeps behind the next snapshots.
func (k *Keeper) setTrailing(raft Raft, entries uint64) {
	c := raft.ReloadableConfig()
	if c.TrailingLogs == entries {
		return
	}
	c.TrailingLogs = entries
	if err := raft.ReloadConfig(c); err != nil {
		k.entry.WithError(err).Warn("can't change how many entries are kept behind a snapshot")
	}
}

// takeSnapshot takes a snapshot, which removes entries from the log. If it fails, a later look tries again.
func (k *Keeper) takeSnapshot(ctx context.Context, raft Raft) {
	began := time.Now()
	taken := make(chan error, 1)
	go func() { taken <- raft.Snapshot().Error() }()
	var err error
	select {
	case <-ctx.Done():
		return
	case err = <-taken:
	}
	switch {
	case errors.Is(err, hraft.ErrNothingNewToSnapshot), errors.Is(err, hraft.ErrRaftShutdown):
		return
	case err != nil:
		k.entry.WithError(err).Warn("no snapshot could be taken to make the log shorter")
		return
	}
	k.noteSnapshot()
	if s, err := k.Measure(); err == nil {
		k.entry.WithField("snapshotMB", s.Snapshot>>20).WithField("logMB", s.Log>>20).WithField("freeMB", s.Free>>20).
			WithField("took", time.Since(began).Round(time.Millisecond)).Info("took a snapshot, as the log had grown")
	}
}
