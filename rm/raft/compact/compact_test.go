package compact

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"
	hraft "github.com/hashicorp/raft"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// infoOf makes the file of a segment with so many bytes.
func infoOf(t *testing.T, s *Segments, first uint64, bytes int) types.SegmentInfo {
	t.Helper()
	info := types.SegmentInfo{ID: first, BaseIndex: first}
	if err := os.WriteFile(filepath.Join(s.dir, segment.FileName(info)), make([]byte, bytes), 0o600); err != nil {
		t.Fatal(err)
	}
	return info
}

// Segments that begin at the same entry or later replace others, and those that the log no longer has are dropped.
func TestSizeOfALogFollowsItsEnds(t *testing.T) {
	t.Parallel()
	s := NewSegments(t.TempDir())
	for _, first := range []uint64{1, 10, 20, 30} {
		s.Begin(infoOf(t, s, first, 100))
	}
	for _, c := range []struct{ first, index, after uint64 }{{1, 0, 300}, {1, 8, 300}, {1, 9, 200}, {1, 18, 200}, {1, 19, 100}, {1, 29, 0}, {12, 0, 200}} {
		if got := s.after(c.first, c.index); got != int64(c.after) {
			t.Errorf("from %d, after %d: %d bytes, not %d", c.first, c.index, got, c.after)
		}
	}
	for most, want := range map[int64]uint64{0: 5, 99: 5, 100: 15, 199: 15, 200: 25, 1000: 25} {
		if got := s.lastWithin(12, 34, most); got != want {
			t.Errorf("within %d bytes: the last %d entries, not %d", most, got, want)
		}
	}
	if got := s.lastWithin(12, 29, 0); got != 0 {
		t.Errorf("%d entries in a segment that is empty", got)
	}
	s.Begin(infoOf(t, s, 25, 100)) // entries from 25 on were cut off
	if from, _ := s.sizes(12); fmt.Sprint(from) != "[10 20 25]" {
		t.Errorf("%v", from)
	}
	if from, _ := s.sizes(0); fmt.Sprint(from) != "[25]" {
		t.Errorf("of an empty log: %v", from)
	}
}

// A snapshot, also the leader's, stops before it takes the space that the log needs.
func TestSnapshotsSpareTheLog(t *testing.T) {
	t.Parallel()
	left := int64(5 << 20)
	snapshots, err := hraft.NewFileSnapshotStoreWithLogger(t.TempDir(), 2, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	k := NewKeeper(Config{MinFree: 8 << 20, Free: func(string) (int64, error) { return left, nil }}, "", NewSegments(""), nil, snapshots, nil)
	_, transport := hraft.NewInmemTransport("")
	w, err := k.Store().Create(1, 10, 1, hraft.Configuration{}, 1, transport)
	if err != nil {
		t.Fatal(err)
	}
	piece := make([]byte, 1<<20)
	for i := range 8 {
		if i == 7 {
			left = 4<<20 - 1
		}
		if _, err := w.Write(piece); (i == 7) != errors.Is(err, ErrNoSpace) {
			t.Fatalf("after %d MB: %v", i+1, err)
		}
	}
	if err := w.Cancel(); err != nil {
		t.Error(err)
	}
	if k.cfg.MinFree = 0; k.Store() != snapshots {
		t.Error("without a floor a snapshot is held up")
	}
}

func TestFreeSpaceOfTheFileSystem(t *testing.T) {
	t.Parallel()
	if free, err := freeSpace(t.TempDir()); err != nil || free <= 0 {
		t.Errorf("%d, %v", free, err)
	}
	if _, err := freeSpace(filepath.Join(t.TempDir(), "gone")); err == nil {
		t.Error("a folder that isn't there has space")
	}
}
