package daemons

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// TearLog writes, behind the last record of the log of a ResourceManager that doesn't run, what a write leaves that a power cut
// interrupted: a part of a record, with or without a hole, and no valid checksum. Nobody has been told of such a record.
func (c *Cluster) TearLog(name string, r *rand.Rand) error {
	if c.PID(name) != 0 {
		return fmt.Errorf("the log of %s can't be torn while it runs", name)
	}
	segments, err := filepath.Glob(filepath.Join(c.Home(name), "state", "rm-"+name, "log", "*.wal"))
	if err != nil {
		return err
	}
	if len(segments) == 0 {
		return errors.New("the log has no segments")
	}
	path := slices.Max(segments) // their names begin with the index of their first entry
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	end, err := lastByte(f, info.Size())
	if err != nil {
		return err
	}
	torn := tornRecord(r)
	if end+int64(len(torn)) > info.Size() {
		return nil // the segment is full: the next record would go elsewhere
	}
	if _, err := f.WriteAt(torn, end); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// tornRecord is a beginning of a record: a header (kind 1, an entry, and its length), and some of what follows.
func tornRecord(r *rand.Rand) []byte {
	const entry, commit = 1, 3
	length := 64 + r.IntN(4000)
	b := make([]byte, 8, 8+length)
	b[0] = entry
	binary.LittleEndian.PutUint32(b[4:], uint32(length))
	for range r.IntN(length) {
		b = append(b, byte(r.Uint32()))
	}
	switch r.IntN(3) {
	case 0: // a sector has not been written, those behind it have
		hole := b[r.IntN(len(b)):]
		clear(hole[:min(len(hole), 512)])
	case 1: // it's whole, but not its checksum
		for len(b) < 8+length {
			b = append(b, byte(r.Uint32()))
		}
		for len(b)%8 != 0 {
			b = append(b, 0)
		}
		b = append(b, commit, 0, 0, 0, 1, 2, 3, 4)
	}
	return b
}

// lastByte is where the next record begins: records are padded to eight bytes, and nothing but zeros follows the last.
func lastByte(f *os.File, size int64) (int64, error) {
	block := make([]byte, 1<<20)
	for at := size; at > 0; {
		n := min(at, int64(len(block)))
		at -= n
		if _, err := f.ReadAt(block[:n], at); err != nil {
			return 0, err
		}
		for i := n - 1; i >= 0; i-- {
			if block[i] != 0 {
				return (at + i + 8) &^ 7, nil
			}
		}
	}
	return 0, nil
}
