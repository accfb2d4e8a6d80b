package raft

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/hashicorp/go-hclog"
	hraft "github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// store is the log, and what raft keeps beside it. It takes the first failed write for its end: what is on disk then is
// known only when it is read anew, by another process. A log that went on could acknowledge what it doesn't have, or record
// segments otherwise than they are.
type store struct {
	*wal.WAL
	meta   types.MetaStore
	log    hclog.Logger
	failed chan struct{} // closed with the first failure

	mu  sync.Mutex
	err error
}

// disk is what a store writes to; tests have it fail.
type disk struct {
	meta        types.MetaStore
	filer       types.SegmentFiler
	segmentSize int // 0 for the log's own
}

func diskAt(dir string) disk {
	return disk{meta: &metadb.BoltMetaDB{}, filer: segment.NewFiler(dir, fs.New())}
}

// openStore opens the log in a folder, and mends what a crash or a full disk has left behind.
func openStore(dir string, d disk, logger hclog.Logger) (*store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s := &store{meta: d.meta, log: logger, failed: make(chan struct{})}
	state, err := d.meta.Load(dir)
	if err == nil {
		err = mend(dir, state, d.meta, logger)
	}
	if err == nil {
		s.WAL, err = wal.Open(dir, wal.WithMetaStore(watchedMeta{d.meta, s}), wal.WithSegmentFiler(watchedFiler{d.filer, s}),
			wal.WithSegmentSize(d.segmentSize), wal.WithLogger(logger))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the log: %w", err), d.meta.Close())
	}
	return s, nil
}

// fail remembers the first failure, and lets nothing be written after it.
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
	return s.fail(f())
}

// StoreLog implements hraft.LogStore.
func (s *store) StoreLog(l *hraft.Log) error { return s.StoreLogs([]*hraft.Log{l}) }

// StoreLogs implements hraft.LogStore.
func (s *store) StoreLogs(l []*hraft.Log) error {
	return s.write(func() error { return s.WAL.StoreLogs(l) })
}

// DeleteRange implements hraft.LogStore.
func (s *store) DeleteRange(first, last uint64) error {
	return s.write(func() error { return s.WAL.DeleteRange(first, last) })
}

// Set implements hraft.StableStore.
func (s *store) Set(key, val []byte) error {
	return s.write(func() error { return s.WAL.Set(key, val) })
}

// SetUint64 implements hraft.StableStore. After a failure the current term counts as written: hashicorp/raft panics
// otherwise. That is safe, as a vote and entries, which promise something, are not.
func (s *store) SetUint64(key []byte, val uint64) error {
	err := s.write(func() error { return s.WAL.SetUint64(key, val) })
	if s.failure() != nil && string(key) == currentTerm {
		return nil
	}
	return err
}

// currentTerm is hashicorp/raft's key of the term that a member is in.
const currentTerm = "CurrentTerm"

// Close closes the log and its metadata.
func (s *store) Close() error { return errors.Join(s.WAL.Close(), s.meta.Close()) }

// watchedMeta tells a store of failures: those of the log's rotation, which is in the background, nobody else hears of.
type watchedMeta struct {
	types.MetaStore
	store *store
}

// CommitState implements types.MetaStore.
func (m watchedMeta) CommitState(state types.PersistentState) error {
	return m.store.write(func() error { return m.MetaStore.CommitState(state) })
}

// watchedFiler does so for files of segments.
type watchedFiler struct {
	types.SegmentFiler
	store *store
}

// Create implements types.SegmentFiler.
func (f watchedFiler) Create(info types.SegmentInfo) (types.SegmentWriter, error) {
	w, err := f.SegmentFiler.Create(info)
	return w, f.store.fail(err)
}
