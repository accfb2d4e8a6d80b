package raft

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	hraft "github.com/hashicorp/raft"
	"github.com/sirupsen/logrus"

	"heddle/rm/raft/promise"
)

const (
	// promiseName is the file beside the log that says what this member has promised.
	promiseName = "promises"
	// promiseInterval is how often it is written, so that nothing waits for it. Later promises of a member are known to its peers' memory only.
	promiseInterval = time.Second
)

// ErrCommitted says that a leader wanted entries replaced that this member knows to be committed.
var ErrCommitted = errors.New("a leader lacks committed entries")

// ErrForgotten says that a state folder is an older copy.
var ErrForgotten = errors.New("this state folder has forgotten what its member promised")

// memory is what this member has promised, and what it knows of its peers' promises.
type memory struct {
	promise.Book
	held atomic.Pointer[promise.Held] // what the folder held when the process started
	log  *logrus.Entry

	mu   sync.Mutex
	file *promise.File

	raft atomic.Pointer[hraft.Raft] // nil before it runs
}

// openMemory opens a folder's promises.
func openMemory(dir string, log *logrus.Entry) (*memory, error) {
	file, page, err := promise.Open(filepath.Join(dir, promiseName))
	if err != nil {
		return nil, err
	}
	m := &memory{file: file, log: log}
	m.begin(page)
	return m, nil
}

// running reports whether raft runs.
func (m *memory) running() bool { return m.raft.Load() != nil }

// begin notes a new start on the folder.
func (m *memory) begin(p promise.Page) {
	start := promise.Start{Run: p.Own.Run + 1, Mark: newIncarnation()}
	m.held.Store(&promise.Held{Start: start, Cut: p.Cut})
	m.Begin(p, start)
}

// opened says what the log and the snapshots hold.
func (m *memory) opened(last, term uint64) error {
	h := *m.held.Load()
	h.Last, h.Term = last, term
	m.held.Store(&h)
	return m.write(m.Page())
}

func (m *memory) write(p promise.Page) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.file.Write(p); err != nil {
		return fmt.Errorf("%s: %w", promiseName, err)
	}
	return nil
}

// keep writes what has changed from time to time, and once more when done is closed.
func (m *memory) keep(done <-chan struct{}) {
	tick := time.NewTicker(promiseInterval)
	defer tick.Stop()
	for ended := false; !ended; {
		select {
		case <-tick.C:
		case <-done:
			ended = true
		}
		m.Committed(m.commit())
		p, changed := m.Changed()
		if !changed {
			continue
		}
		if err := m.write(p); err != nil {
			m.log.WithError(err).Warn("can't record how far this member and its peers are")
		}
	}
}

// commit returns the highest index that this member knows to be committed.
func (m *memory) commit() uint64 {
	known := m.Page().Commit
	if r := m.raft.Load(); r != nil {
		known = max(known, r.CommitIndex())
	}
	return known
}

// mayCut decides whether entries may be removed that no snapshot holds: those from first to last.
func (m *memory) mayCut(first, last uint64) error {
	commit := m.commit()
	r := m.raft.Load()
	if first > commit {
		m.CutBy(r.CurrentTerm(), first-1)
		return m.write(m.Page()) // before they are gone
	}
	_, id := r.LeaderWithID()
	m.Committed(commit)
	err := fmt.Errorf("%w: %s, the leader of term %d, wants entries %d to %d of this log removed, and those up to %d are committed: this member stops and keeps them. "+
		"Stop %s, which may have lost a disk or have got an older copy of its folder; start this member and the others without it, and then it with an empty state folder",
		ErrCommitted, bareID(id), r.CurrentTerm(), first, last, commit, bareID(id))
	return errors.Join(err, m.write(m.Page()))
}

// mayInstall decides whether a leader's snapshot may replace the log.
func (m *memory) mayInstall(req *hraft.InstallSnapshotRequest) error {
	if commit := m.commit(); req.LastLogIndex < commit {
		err := fmt.Errorf("%w: its snapshot ends at entry %d, and those up to %d are committed", ErrCommitted, req.LastLogIndex, commit)
		m.log.WithError(err).WithField("leader", bareID(hraft.ServerID(req.ID))).Error("refused the snapshot of a leader, which may have lost a disk or have got an older copy of its folder")
		return err
	}
	return nil
}

// close writes nothing more; keep has to have ended.
func (m *memory) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.file.Close()
}
