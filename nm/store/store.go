// Package store keeps the state that a NodeManager must not lose when it is killed: containers, applications, localized
// files, keys and pending deletions. It is a file of key-value buckets (go.etcd.io/bbolt). The packages that own the
// buckets define the values.
//
// A write is on disk when its call returns. Writes that arrive during a sync form the next transaction, so that
// starting a hundred containers costs a few syncs and not hundreds. A caller that must not wait for a disk begins a
// write, and may look at its outcome later. Writes reach the disk in the order of their calls.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"heddle/internal/bounded"
	"heddle/internal/statedir"
)

// ErrInUse says that another process has the state folder open.
var ErrInUse = errors.New("the state folder is in use")

// ErrDamaged says that the state file can't be read.
var ErrDamaged = errors.New("the state file is damaged")

const (
	fileName = "nm.db"
	pidName  = "nm.pid"

	// format is the layout of the whole file; it changes when older releases can no longer read it.
	format = "heddle-nodemanager-1"
)

var metaBucket = []byte("meta")

// Store is an open state file. It is safe for concurrent use.
type Store struct {
	dir string
	db  *bolt.DB

	mu     sync.Mutex
	queue  []*write
	busy   bool
	since  time.Time // begin of the batch under way; zero without one
	closed bool
	idle   sync.WaitGroup
}

type write struct {
	do   func(*bolt.Tx) error
	wrap func(error) error
	done chan error // receives one value
}

// Open opens the state file in a folder, and makes the folder if need be. It fails with ErrInUse if another process has
// it open, and with ErrDamaged if its contents are invalid.
func Open(dir string) (*Store, error) {
	if err := statedir.Make(dir); err != nil {
		return nil, fmt.Errorf("state folder %s (heddle.state.dir): %w", dir, err)
	}
	s := &Store{dir: dir}
	if err := s.open(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Store) open() (err error) {
	file := filepath.Join(s.dir, fileName)
	damaged := func(err error) error {
		return fmt.Errorf("%s: %w: %w; move it away to start without the containers in it", file, ErrDamaged, err)
	}
	// Reading a damaged file may go beyond its end.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = damaged(fmt.Errorf("%v", p))
		}
		if err != nil && s.db != nil {
			func() {
				defer func() { _ = recover() }()
				s.db.Close()
			}()
		}
	}()

	s.db, err = bolt.Open(file, 0o600, &bolt.Options{Timeout: 300 * time.Millisecond})
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		who := ""
		if pid, err := bounded.ReadFile(filepath.Join(s.dir, pidName), 64); err == nil {
			who = " by process " + strings.TrimSpace(string(pid))
		}
		return fmt.Errorf("%s: %w%s: another NodeManager with the same id runs here; give each its own heddle.node.id or heddle.state.dir", s.dir, ErrInUse, who)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: %w", file, err)
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch):
		return damaged(err)
	case err != nil:
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := s.db.View(check); err != nil {
		return damaged(err)
	}
	if err := s.db.Update(s.sign); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.dir, pidName), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600)
}

func check(tx *bolt.Tx) error {
	var first error
	for err := range tx.Check() { // must be drained
		if first == nil {
			first = err
		}
	}
	return first
}

// sign writes the format into a new file, and refuses a file with another format.
func (s *Store) sign(tx *bolt.Tx) error {
	meta, err := tx.CreateBucketIfNotExists(metaBucket)
	if err != nil {
		return fmt.Errorf("%s: %w", s.dir, err)
	}
	switch have := meta.Get([]byte("format")); string(have) {
	case format:
		return nil
	case "":
		return meta.Put([]byte("format"), []byte(format))
	default:
		return fmt.Errorf("%s was written in format %q by another version of Heddle; this one reads %q",
			filepath.Join(s.dir, fileName), have, format)
	}
}

// Dir returns the state folder.
func (s *Store) Dir() string { return s.dir }

// Close waits for writes under way and releases the folder. Later writes fail.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.idle.Wait()
	return s.db.Close()
}

// Remove deletes the state for good. The store must be closed.
func (s *Store) Remove() error {
	for _, name := range []string{fileName, pidName} {
		if err := os.Remove(filepath.Join(s.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the state of the NodeManager: %w", err)
		}
	}
	return nil
}

// begin queues a write. It never waits for the disk.
func (s *Store) begin(do func(*bolt.Tx) error, wrap func(error) error) <-chan error {
	w := &write{do: do, wrap: wrap, done: make(chan error, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		w.done <- wrap(fmt.Errorf("%s: %w", s.dir, berrors.ErrDatabaseNotOpen))
		return w.done
	}
	s.queue = append(s.queue, w)
	if !s.busy {
		s.busy = true
		s.idle.Go(s.drain)
	}
	return w.done
}

// Hold blocks writes until the returned function is called, like a disk that doesn't answer. It is for tests of callers
// that must not wait for the disk.
func (s *Store) Hold() (release func()) {
	tx, err := s.db.Begin(true) // only one such transaction may be open
	if err != nil {
		panic(err)
	}
	return sync.OnceFunc(func() {
		if err := tx.Rollback(); err != nil {
			panic(err)
		}
	})
}

// Waiting returns how long the oldest write has waited for the disk; 0 without any.
func (s *Store) Waiting() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() {
		return 0
	}
	return time.Since(s.since)
}

// drain commits queued writes, all waiting ones at a time, until there are none.
func (s *Store) drain() {
	for {
		s.mu.Lock()
		batch := s.queue
		s.queue = nil
		s.since = time.Now()
		if len(batch) == 0 {
			s.busy, s.since = false, time.Time{}
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		s.commit(batch)
	}
}

// commit commits a batch. If that fails, it tries each write alone, so that one failing write doesn't fail the others.
func (s *Store) commit(batch []*write) {
	err := s.db.Update(func(tx *bolt.Tx) error {
		for _, w := range batch {
			if err := w.do(tx); err != nil {
				return err
			}
		}
		return nil
	})
	for _, w := range batch {
		if err != nil && len(batch) > 1 {
			w.done <- w.wrap(s.db.Update(w.do))
			continue
		}
		w.done <- w.wrap(err)
	}
}
