package raft

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	hraft "github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"

	"heddle/rm/raft/compact"
)

// store is the log, and raft's metadata beside it. The first failed write ends it: only another process that reads the disk again
// knows what is on it then. A log that continued might acknowledge entries that it doesn't have, or record
// segments wrongly.
type store struct {
	*wal.WAL
	disk
	log      hclog.Logger
	segments *compact.Segments
	failed   chan struct{} // closed with the first failure
	// hangs is called when a write has taken longer than patience, and continues.
	hangs    func()
	patience time.Duration
	// cuts decides whether entries may be removed; stored is told of those that are on disk.
	cuts   func(first, last uint64) error
	stored func(index, term uint64)

	mu  sync.Mutex
	err error
}

// errHangs is the failure of a log whose disk doesn't answer.
var errHangs = errors.New("its disk doesn't answer")

// disk is what a store writes to; tests make it fail.
type disk struct {
	meta        types.MetaStore
	filer       types.SegmentFiler
	files       io.Closer // what filer makes segments of
	segmentSize int       // 0 for the default
}

func diskAt(dir string) disk {
	files := newSegmentFiles()
	return disk{meta: &metadb.BoltMetaDB{}, filer: segment.NewFiler(dir, files), files: files}
}

func (d disk) close() error { return errors.Join(d.files.Close(), d.meta.Close()) }

// openStore opens the log in a folder, and mends what a crash or a full disk left behind.
func openStore(dir string, d disk, logger hclog.Logger) (*store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s := &store{
		disk: d, log: logger, segments: compact.NewSegments(dir), failed: make(chan struct{}), hangs: func() {}, patience: time.Hour,
		cuts: func(uint64, uint64) error { return nil }, stored: func(uint64, uint64) {},
	}
	state, err := d.meta.Load(dir)
	if err == nil {
		err = mend(dir, state, d.meta, logger)
	}
	if err == nil {
		s.WAL, err = wal.Open(dir, wal.WithMetaStore(watchedMeta{d.meta, s}), wal.WithSegmentFiler(watchedFiler{d.filer, s}),
			wal.WithSegmentSize(d.segmentSize), wal.WithLogger(logger))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the log: %w", err), d.close())
	}
	return s, nil
}

// fail records the first failure, and lets nothing be written after it.
func (s *store) fail(err error) error {
	if err == nil || errors.Is(err, wal.ErrClosed) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
		s.log.Error("the log can't be written any more", "error", err)
		close(s.failed)
	}
	return err
}

func (s *store) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *store) write(f func() error) error {
	if err := s.failure(); err != nil {
		return err
	}
	defer time.AfterFunc(s.patience, s.hangs).Stop()
	return s.fail(f())
}

// StoreLog implements hraft.LogStore.
func (s *store) StoreLog(l *hraft.Log) error { return s.StoreLogs([]*hraft.Log{l}) }

// StoreLogs implements hraft.LogStore.
func (s *store) StoreLogs(l []*hraft.Log) error {
	err := s.write(func() error { return s.WAL.StoreLogs(l) })
	if n := len(l); n > 0 && err == nil {
		s.stored(l[n-1].Index, l[n-1].Term)
	}
	return err
}

// DeleteRange implements hraft.LogStore.
func (s *store) DeleteRange(first, last uint64) error {
	return s.write(func() error {
		if err := s.cuts(first, last); err != nil {
			return err
		}
		return s.WAL.DeleteRange(first, last)
	})
}

// Set implements hraft.StableStore.
func (s *store) Set(key, val []byte) error {
	return s.write(func() error { return s.WAL.Set(key, val) })
}

// SetUint64 implements hraft.StableStore. After a failure the current term counts as written, because hashicorp/raft would panic
// otherwise. That is safe: votes and entries make promises, and they fail.
func (s *store) SetUint64(key []byte, val uint64) error {
	err := s.write(func() error { return s.WAL.SetUint64(key, val) })
	if s.failure() != nil && string(key) == currentTerm {
		return nil
	}
	return err
}

// currentTerm is hashicorp/raft's key of a member's current term.
const currentTerm = "CurrentTerm"

// Close closes the log and its metadata.
func (s *store) Close() error { return errors.Join(s.WAL.Close(), s.disk.close()) }

// watchedMeta reports failed writes to a store. The log rotates in the background, and reports failures only here.
type watchedMeta struct {
	types.MetaStore
	store *store
}

// CommitState implements types.MetaStore.
func (m watchedMeta) CommitState(state types.PersistentState) error {
	return m.store.write(func() error { return m.MetaStore.CommitState(state) })
}

// watchedFiler does the same for segment files, and tells the store's segments of them.
type watchedFiler struct {
	types.SegmentFiler
	store *store
}

// Create implements types.SegmentFiler.
func (f watchedFiler) Create(info types.SegmentInfo) (types.SegmentWriter, error) {
	w, err := f.SegmentFiler.Create(info)
	if err == nil {
		f.store.segments.Begin(info)
	}
	return w, f.store.fail(err)
}

// Open implements types.SegmentFiler.
func (f watchedFiler) Open(info types.SegmentInfo) (types.SegmentReader, error) {
	f.store.segments.Begin(info)
	return f.SegmentFiler.Open(info)
}

// RecoverTail implements types.SegmentFiler.
func (f watchedFiler) RecoverTail(info types.SegmentInfo) (types.SegmentWriter, error) {
	f.store.segments.Begin(info)
	return f.SegmentFiler.RecoverTail(info)
}
