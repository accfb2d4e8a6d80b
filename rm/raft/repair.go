package raft

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// raft-wal considers a segment sealed, and doesn't write to it, as soon as its file has an index. If a crash or a full disk
// comes between the index and the record of the next segment, no segment would accept entries ever again. An index
// that was only half written has the same effect.

// mend makes the last segment of a log writable, or puts its successor on record. No acknowledged entry is
// lost: such entries end with a commit frame, and everything up to the last whole one stays.
func mend(dir string, state types.PersistentState, meta types.MetaStore, logger hclog.Logger) error {
	if len(state.Segments) == 0 {
		return nil
	}
	tail := &state.Segments[len(state.Segments)-1]
	if !tail.SealTime.IsZero() {
		return nil
	}
	path := filepath.Join(dir, segment.FileName(*tail))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil // it is created later
	}
	if err != nil {
		return err
	}
	defer f.Close()
	found, err := readTail(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if found.torn {
		logger.Warn("removing a half-written end of the log", "file", path, "from", found.end)
		if err := cut(f, found.end); err != nil {
			return fmt.Errorf("%s: remove its half-written end: %w", path, err)
		}
	}
	if found.index == 0 {
		return nil
	}
	logger.Warn("the log's last file is full, and the next one was not recorded", "file", path)
	tail.SealTime, tail.IndexStart, tail.MaxIndex = time.Now(), found.index, tail.BaseIndex+found.entries-1
	next := types.SegmentInfo{
		ID: state.NextSegmentID, BaseIndex: tail.MaxIndex + 1, MinIndex: tail.MaxIndex + 1,
		Codec: tail.Codec, CreateTime: time.Now(), SizeLimit: tail.SizeLimit,
	}
	state.NextSegmentID++
	state.Segments = append(state.Segments, next)
	return meta.CommitState(state)
}

// cut zeroes a file from an offset on.
func cut(f *os.File, from int64) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := f.Truncate(from); err != nil {
		return err
	}
	return errors.Join(f.Truncate(info.Size()), f.Sync())
}

// tailState describes the file of a segment that is not sealed on record.
type tailState struct {
	end     int64  // end of what is committed, or of the file's header
	entries uint64 // committed
	index   uint64 // offset of the index, 0 if none is committed
	torn    bool   // there are bytes after end
}

const (
	segmentHeader = 32
	frameHeader   = 8
)

// commitPoint is the state after a commit frame.
type commitPoint struct {
	tailState
	start int64 // start of what the commit covers
	crc   uint32
}

// readTail reads a segment as raft-wal wrote it: frames with a header of 8 bytes, padded to multiples of 8. A commit
// frame has the checksum of everything since the one before. Only the last frame can be half written.
func readTail(r io.ReaderAt) (tailState, error) {
	var last, before *commitPoint
	now := tailState{end: segmentHeader}
	var index uint64
	for offset := int64(segmentHeader); ; {
		var head [frameHeader]byte
		n, err := r.ReadAt(head[:], offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return tailState{}, err
		}
		if n < len(head) || head[0] == segment.FrameInvalid || head[0] > segment.FrameCommit {
			break
		}
		size := int64(binary.LittleEndian.Uint32(head[4:]))
		switch head[0] {
		case segment.FrameEntry:
			now.entries++
		case segment.FrameIndex:
			index = uint64(offset + frameHeader)
		case segment.FrameCommit:
			size = 0
			start := int64(0)
			if last != nil {
				start = last.end
			}
			now.end, now.index = offset+frameHeader, index
			before, last = last, &commitPoint{now, start, binary.LittleEndian.Uint32(head[4:])}
		}
		offset += frameHeader + (size+frameHeader-1)/frameHeader*frameHeader
	}
	good := tailState{end: segmentHeader}
	if last != nil {
		whole, err := last.whole(r)
		switch {
		case err != nil:
			return tailState{}, err
		case whole:
			good = last.tailState
		case before != nil:
			good = before.tailState
		}
	}
	var err error
	good.torn, err = anything(r, good.end)
	return good, err
}

// whole checks the checksum of a commit frame.
func (c *commitPoint) whole(r io.ReaderAt) (bool, error) {
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	if _, err := io.Copy(sum, io.NewSectionReader(r, c.start, c.end-frameHeader-c.start)); err != nil {
		return false, err
	}
	return sum.Sum32() == c.crc, nil
}

// anything reports whether any byte from an offset on is not 0.
func anything(r io.ReaderAt, from int64) (bool, error) {
	buf := make([]byte, 64<<10)
	for {
		n, err := r.ReadAt(buf, from)
		if len(bytes.Trim(buf[:n], "\x00")) > 0 {
			return true, nil
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		from += int64(n)
	}
}
