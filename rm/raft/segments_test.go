package raft

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft-wal/types"
)

const segmentForTest = 2*sparePiece + 100

// segments returns files in a folder of their own, which are closed with the test.
func segments(t *testing.T) (*segmentFiles, string) {
	t.Helper()
	dir := t.TempDir()
	s := newSegmentFiles()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, dir
}

// create creates a segment, writes beyond its half, and waits until the spare for the next one is made.
func create(t *testing.T, s *segmentFiles, dir, name string, size uint64) types.WritableFile {
	t.Helper()
	f, err := s.Create(dir, name, size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	fillHalf(t, s, f, size)
	return f
}

func fillHalf(t *testing.T, s *segmentFiles, f types.WritableFile, size uint64) {
	t.Helper()
	for _, at := range []uint64{0, size/2 - 1, size / 2} {
		s.mu.Lock()
		if s.spare != nil {
			t.Errorf("a spare is made before the half of %d bytes is written", size)
		}
		s.mu.Unlock()
		if _, err := f.WriteAt([]byte{0}, int64(at)); err != nil {
			t.Fatal(err)
		}
	}
	s.filled.Wait()
}

func stat(t *testing.T, dir, name string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// filesIn returns the names of the files in a folder.
func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A segment's file is made while the one before is written to. It is empty, whatever an earlier process left behind, and keeps what
// is written to it.
func TestTheNextSegmentIsMadeBeforehand(t *testing.T) {
	s, dir := segments(t)
	if err := os.WriteFile(filepath.Join(dir, spareName), []byte("left behind"), 0o600); err != nil {
		t.Fatal(err)
	}
	create(t, s, dir, "1.wal", segmentForTest)
	spare := stat(t, dir, spareName)
	f := create(t, s, dir, "2.wal", segmentForTest)
	if !os.SameFile(spare, stat(t, dir, "2.wal")) {
		t.Error("the file that was made beforehand is not used")
	}
	if os.SameFile(stat(t, dir, spareName), spare) {
		t.Error("it is used twice")
	}
	want := make([]byte, segmentForTest)
	if got, err := os.ReadFile(filepath.Join(dir, "2.wal")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("it has %d bytes, not all of them zero: %v", len(got), err)
	}
	for i, entry := range []string{"one", "two"} {
		if _, err := f.WriteAt([]byte(entry), int64(10*i)); err != nil {
			t.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
		copy(want[10*i:], entry)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "2.wal")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("what was written isn't there: %v", err)
	}
}

// A spare of another size isn't used, and one that couldn't be made holds nobody up.
func TestASegmentWithoutAFittingSpareIsCreated(t *testing.T) {
	s, dir := segments(t)
	create(t, s, dir, "1.wal", 100)
	create(t, s, dir, "2.wal", 200)
	if size := stat(t, dir, "2.wal").Size(); size != 200 {
		t.Errorf("it has %d bytes", size)
	}
	if size := stat(t, dir, spareName).Size(); size != 200 {
		t.Errorf("the next spare has %d bytes", size)
	}
	if _, err := s.Create(dir, "2.wal", 200); !errors.Is(err, os.ErrExist) {
		t.Errorf("a segment that is there: %v", err)
	}

	s, dir = segments(t)
	blocked := filepath.Join(dir, spareName, "file")
	if err := os.MkdirAll(blocked, 0o700); err != nil {
		t.Fatal(err)
	}
	create(t, s, dir, "1.wal", 100)
	create(t, s, dir, "2.wal", 100)
	if size := stat(t, dir, "2.wal").Size(); size != 100 {
		t.Errorf("it has %d bytes", size)
	}
}

// The spare of a segment that is gone on with is made, too.
func TestASegmentThatIsOpenedAgainGetsASpare(t *testing.T) {
	s, dir := segments(t)
	if err := os.WriteFile(filepath.Join(dir, "1.wal"), make([]byte, 300), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := s.OpenWriter(dir, "1.wal")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fillHalf(t, s, f, 300)
	spare := stat(t, dir, spareName)
	create(t, s, dir, "2.wal", 300)
	if !os.SameFile(spare, stat(t, dir, "2.wal")) {
		t.Error("it is not used")
	}
}

// Whether a spare is full or not, nothing of it is left in the end.
func TestSparesGoWithTheLog(t *testing.T) {
	s, dir := segments(t)
	create(t, s, dir, "1.wal", segmentForTest)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if got := filesIn(t, dir); len(got) != 1 || got[0] != "1.wal" {
		t.Errorf("%v are left", got)
	}
	create(t, s, dir, "2.wal", segmentForTest)
	if got := filesIn(t, dir); len(got) != 2 {
		t.Errorf("%v are there after the end", got)
	}

	s, dir = segments(t)
	f, err := s.Create(dir, "1.wal", 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte{1}, 40<<20); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if got := filesIn(t, dir); len(got) != 1 {
		t.Errorf("%v are left of one that was being filled", got)
	}
}
