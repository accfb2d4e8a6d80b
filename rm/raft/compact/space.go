package compact

import (
	"context"
	"errors"
	"fmt"
	"time"

	hraft "github.com/hashicorp/raft"
	"golang.org/x/sys/unix"
)

const (
	// spaceInterval is how often the free space of the file system is read.
	spaceInterval = time.Second
	// spacePiece is how many bytes of a snapshot are written between two looks at the free space.
	spacePiece = 4 << 20
)

// Space describes the file system with the log and the snapshots, in bytes.
type Space struct {
	Free     int64 // for this process
	Needed   int64 // the least that should be free: Config.MinFree and the size that the next snapshot may have; 0 if MinFree is
	Log      int64 // of the log's files
	Snapshot int64 // of the last snapshot
	floor    int64 // Config.MinFree
}

// Low reports whether too little space is free for large entries.
func (s Space) Low() bool { return s.Free < s.Needed }

// Full reports whether so little is free that the log may soon find none.
func (s Space) Full() bool { return s.Free < s.floor/2 }

// ErrNoSpace ends a snapshot that would take the space which the log needs.
var ErrNoSpace = errors.New("too little space is free for a snapshot")

// Space returns what was measured last. It is zero as long as nothing was.
func (k *Keeper) Space() Space {
	if s := k.space.Load(); s != nil {
		return *s
	}
	return Space{}
}

// freeSpace returns how many bytes of a folder's file system this process may still take.
func freeSpace(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}

// Watch measures the space each second until ctx ends, and logs when it becomes low and when it no longer is.
func (k *Keeper) Watch(ctx context.Context) {
	tick := time.NewTicker(spaceInterval)
	defer tick.Stop()
	low := false
	for {
		s, err := k.Measure()
		switch {
		case err != nil:
			k.entry.WithError(err).Debug("the free space of the state folder isn't known")
		case s.Low() && !low:
			k.entry.WithField("freeMB", s.Free>>20).WithField("neededMB", s.Needed>>20).Warnf("little space is left on the file system of %s: "+
				"large submissions are refused while this member leads; make room there, or lower heddle.raft.min-free-mb", k.dir)
		case low && !s.Low():
			k.entry.WithField("freeMB", s.Free>>20).Info("the state folder's file system has room again")
		}
		low = err == nil && s.Low()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Measure brings Space up to date.
func (k *Keeper) Measure() (Space, error) {
	free, err := k.cfg.Free(k.dir)
	if err != nil {
		k.space.Store(nil)
		return Space{}, err
	}
	last := k.last.Load()
	first, err := k.log.FirstIndex()
	if err != nil {
		return Space{}, err
	}
	s := Space{Free: free, Log: k.segments.total(first), Snapshot: last.size, floor: k.cfg.MinFree}
	if k.cfg.MinFree > 0 { // a snapshot is at most as large as the last one and everything that was written since
		s.Needed = k.cfg.MinFree + last.size + k.segments.after(first, last.index)
	}
	k.space.Store(&s)
	return s, nil
}

// Store returns the snapshots' store for raft. Writing a snapshot, an own one or the leader's, fails with ErrNoSpace before the log finds no
// room for two more segments: a log that can't be written ends its process.
func (k *Keeper) Store() hraft.SnapshotStore {
	if k.cfg.MinFree == 0 {
		return k.snapshots
	}
	return sparing{k.snapshots, k}
}

type sparing struct {
	hraft.SnapshotStore
	keeper *Keeper
}

// Create implements hraft.SnapshotStore.
func (s sparing) Create(version hraft.SnapshotVersion, index, term uint64, members hraft.Configuration, membersIndex uint64, t hraft.Transport) (hraft.SnapshotSink, error) {
	sink, err := s.SnapshotStore.Create(version, index, term, members, membersIndex, t)
	if err != nil {
		return nil, err
	}
	return &sparingSink{SnapshotSink: sink, keeper: s.keeper}, nil
}

type sparingSink struct {
	hraft.SnapshotSink
	keeper *Keeper
	since  int // bytes written since the last look
}

// Write implements io.Writer.
func (s *sparingSink) Write(b []byte) (int, error) {
	if s.since += len(b); s.since >= spacePiece {
		s.since = 0
		reserve := s.keeper.cfg.MinFree / 2
		if free, err := s.keeper.cfg.Free(s.keeper.dir); err == nil && free < reserve {
			return 0, fmt.Errorf("%w: %d MB are left, and the log needs %d MB", ErrNoSpace, free>>20, reserve>>20)
		}
	}
	return s.SnapshotSink.Write(b)
}
