package promise

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// A file has two slots, which are written in turn, in blocks that were written before: a crash leaves at least one of them whole, and
// bringing a slot to disk needs no commit of the file system's journal, for which the log beside it would have to wait.
const (
	slotSize = 8 << 10
	// slotHeader is the checksum of the rest, the number of the writing, and the length of the page in JSON.
	slotHeader = 4 + 8 + 4
)

// ErrLarge says that a page doesn't fit into a slot.
var ErrLarge = errors.New("too many peers to be kept")

// File is where a member keeps its book. One goroutine at a time may use it.
type File struct {
	f      *os.File
	number uint64 // of the last writing
}

// Open opens a file, or makes it, and returns the last page that was written to it.
func Open(path string) (*File, Page, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, Page{}, err
	}
	file := &File{f: f}
	page, err := file.read()
	if err != nil {
		return nil, Page{}, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return file, page, nil
}

// read returns the later one of the slots that are whole. A new file gets its blocks.
func (f *File) read() (Page, error) {
	raw := make([]byte, 2*slotSize)
	if n, err := f.f.ReadAt(raw, 0); errors.Is(err, io.EOF) {
		clear(raw[n:])
		if _, err := f.f.WriteAt(raw, 0); err != nil {
			return Page{}, err
		}
		if err := f.f.Sync(); err != nil {
			return Page{}, err
		}
	} else if err != nil {
		return Page{}, err
	}
	var page Page
	for _, slot := range [][]byte{raw[:slotSize], raw[slotSize:]} {
		if number, p, ok := decode(slot); ok && number > f.number {
			f.number, page = number, p
		}
	}
	return page, nil
}

// Write brings a page to disk.
func (f *File) Write(p Page) error {
	slot, err := encode(f.number+1, p)
	if err != nil {
		return err
	}
	f.number++
	if _, err := f.f.WriteAt(slot, int64(f.number%2)*slotSize); err != nil {
		return err
	}
	for {
		if err := unix.Fdatasync(int(f.f.Fd())); !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}

// Close closes the file.
func (f *File) Close() error { return f.f.Close() }

func encode(number uint64, p Page) ([]byte, error) {
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	if len(raw) > slotSize-slotHeader {
		return nil, ErrLarge
	}
	slot := make([]byte, slotSize)
	binary.LittleEndian.PutUint64(slot[4:], number)
	binary.LittleEndian.PutUint32(slot[12:], uint32(len(raw)))
	copy(slot[slotHeader:], raw)
	binary.LittleEndian.PutUint32(slot, checksum(slot[4:slotHeader+len(raw)]))
	return slot, nil
}

// decode reads a slot, and reports false if it isn't whole.
func decode(slot []byte) (number uint64, p Page, ok bool) {
	if len(slot) < slotHeader {
		return 0, p, false
	}
	size := binary.LittleEndian.Uint32(slot[12:])
	if int64(size) > int64(len(slot)-slotHeader) || binary.LittleEndian.Uint32(slot) != checksum(slot[4:slotHeader+size]) {
		return 0, p, false
	}
	if err := json.Unmarshal(slot[slotHeader:slotHeader+size], &p); err != nil {
		return 0, Page{}, false
	}
	return binary.LittleEndian.Uint64(slot[4:]), p, true
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }
