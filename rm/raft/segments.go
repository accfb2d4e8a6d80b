package raft

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/types"
	"golang.org/x/sys/unix"

	"heddle/internal/pause"
)

// segmentFiles are the files of the log's segments. It makes the next segment's file, full of zeros, when the present one is half full.
//
// An entry counts when its bytes are on disk and the file system can find them. In a file that was only preallocated, each write changes
// the map of blocks, so that the file system has to commit its journal first, together with what other programs have written. That takes
// a hundred milliseconds and more while they write much. In blocks that were written before, only the bytes of the entry are to be
// written. Filling a segment at once would hold up the log in the same way, so that happens in the background, a piece at a time.
type segmentFiles struct {
	*fs.FS
	ctx    context.Context // ends when the log is closed
	cancel context.CancelFunc
	filled sync.WaitGroup

	mu    sync.Mutex
	spare *spare // nil if none is made or being made
}

// spare is the file for the next segment.
type spare struct {
	dir  string
	size uint64
	done chan struct{}      // closed when it is full of zeros, or couldn't be made
	file types.WritableFile // set before done is closed; nil if it couldn't be made
}

const (
	// spareName isn't the name of a segment, so raft-wal overlooks it.
	spareName  = "next"
	sparePiece = 1 << 20
	// spareShare is the inverse of the part of the time for which the disk is kept busy with filling a spare.
	spareShare = 4
)

func newSegmentFiles() *segmentFiles {
	ctx, cancel := context.WithCancel(context.Background())
	return &segmentFiles{FS: fs.New(), ctx: ctx, cancel: cancel}
}

// Create implements types.VFS: it takes the file that was made beforehand, if that is ready.
func (s *segmentFiles) Create(dir, name string, size uint64) (types.WritableFile, error) {
	f, err := s.takeSpare(dir, name, size)
	if f == nil && err == nil {
		f, err = s.FS.Create(dir, name, size)
	}
	if err != nil {
		return nil, err
	}
	return &segmentFile{WritableFile: f, files: s, dir: dir, size: size}, nil
}

// OpenWriter implements types.VFS.
func (s *segmentFiles) OpenWriter(dir, name string) (types.WritableFile, error) {
	f, err := s.FS.OpenWriter(dir, name)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(filepath.Join(dir, name))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &segmentFile{WritableFile: f, files: s, dir: dir, size: uint64(info.Size())}, nil
}

// takeSpare gives the spare its name. It returns nil without an error if there is none of that size.
func (s *segmentFiles) takeSpare(dir, name string, size uint64) (types.WritableFile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spare == nil {
		return nil, nil
	}
	select {
	case <-s.spare.done:
	default:
		return nil, nil // it will do for the next one
	}
	taken := s.spare
	s.spare = nil
	if taken.file == nil {
		return nil, nil
	}
	if taken.dir != dir || taken.size != size {
		return nil, taken.remove()
	}
	to := filepath.Join(dir, name)
	if _, err := os.Lstat(to); !errors.Is(err, os.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("create %s: %w", to, os.ErrExist), taken.remove())
	}
	if err := os.Rename(filepath.Join(dir, spareName), to); err != nil {
		return nil, errors.Join(err, taken.remove())
	}
	return taken.file, nil
}

// prepare begins to make a spare, unless there is one.
func (s *segmentFiles) prepare(dir string, size uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spare != nil || s.ctx.Err() != nil {
		return
	}
	next := &spare{dir: dir, size: size, done: make(chan struct{})}
	s.spare = next
	s.filled.Go(func() {
		defer close(next.done)
		if err := next.fill(s.ctx, s.FS); err != nil {
			next.file = nil // the segment is preallocated then, or its creation says what is wrong
		}
	})
}

// fill makes the file and writes zeros to all of it, with pauses in which the log has the disk for itself.
func (p *spare) fill(ctx context.Context, files *fs.FS) (err error) {
	if err := os.Remove(filepath.Join(p.dir, spareName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err // of an earlier process
	}
	if p.file, err = files.Create(p.dir, spareName, p.size); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.remove())
		}
	}()
	zeros := make([]byte, min(sparePiece, p.size))
	for at := uint64(0); at < p.size; at += uint64(len(zeros)) {
		began := time.Now()
		piece := zeros[:min(uint64(len(zeros)), p.size-at)]
		if _, err := p.file.WriteAt(piece, int64(at)); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		// Whatever this call can't do is left to the last one.
		_ = unix.SyncFileRange(descriptor(p.file), int64(at), int64(len(piece)),
			unix.SYNC_FILE_RANGE_WAIT_BEFORE|unix.SYNC_FILE_RANGE_WRITE|unix.SYNC_FILE_RANGE_WAIT_AFTER)
		if err := pause.For(ctx, (spareShare-1)*time.Since(began)); err != nil {
			return err
		}
	}
	return syncWhole(p.file)
}

// remove closes and deletes the file.
func (p *spare) remove() error {
	return errors.Join(p.file.Close(), os.Remove(filepath.Join(p.dir, spareName)))
}

// Close ends what happens in the background, and deletes the spare.
func (s *segmentFiles) Close() error {
	s.cancel()
	s.filled.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.spare
	s.spare = nil
	if left == nil || left.file == nil {
		return nil
	}
	return left.remove()
}

// segmentFile is a segment that is written to.
type segmentFile struct {
	types.WritableFile
	files *segmentFiles
	dir   string
	size  uint64

	begun    bool // its name is on disk
	followed bool // a spare for its successor is made
}

// WriteAt implements types.WritableFile.
func (f *segmentFile) WriteAt(b []byte, at int64) (int, error) {
	if !f.followed && uint64(at) >= f.size/2 {
		f.followed = true
		f.files.prepare(f.dir, f.size)
	}
	return f.WritableFile.WriteAt(b, at)
}

// Sync implements types.WritableFile. Only the first call must bring the file's name to disk. The later ones leave out its times,
// which would need a commit of the file system's journal.
func (f *segmentFile) Sync() error {
	if f.begun {
		return syncData(f.WritableFile)
	}
	if err := f.WritableFile.Sync(); err != nil {
		return err
	}
	f.begun = true
	return nil
}

// descriptor returns the descriptor of an open file, which fs makes.
func descriptor(f types.WritableFile) int { return int(f.(interface{ Fd() uintptr }).Fd()) }

// syncWhole writes a file to disk with all that is known of it. Unlike the Sync of fs, it leaves the folder for later.
func syncWhole(f types.WritableFile) error { return retried(unix.Fsync, f) }

// syncData writes to disk what reading the file needs.
func syncData(f types.WritableFile) error { return retried(unix.Fdatasync, f) }

func retried(call func(fd int) error, f types.WritableFile) error {
	for {
		if err := call(descriptor(f)); !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("fsync", err)
		}
	}
}
