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

// TearLog damages the log of a ResourceManager that doesn't run, like a power cut during a write. It writes an
// incomplete record after the last one, with or without a hole, and without a valid checksum. No caller has been told
// of such a record.
func (c *Cluster) TearLog(name string, r *rand.Rand) error {
	if c.PID(name) != 0 {
		return fmt.Errorf("can't damage the log of %s while it runs", name)
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
		return nil // the segment is full: the next record would go to another one
	}
	if _, err := f.WriteAt(torn, end); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// tornRecord returns the beginning of a record: a header (kind 1, an entry, and its length), and part of the contents.
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
	case 0: // one sector is missing, later ones aren't
		hole := b[r.IntN(len(b)):]
		clear(hole[:min(len(hole), 512)])
	case 1: // only the checksum is wrong
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

// lastByte returns the offset of the next record. Records are padded to eight bytes, and zeros follow the last one.
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
