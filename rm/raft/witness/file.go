package witness

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// A file has two slots of slotSize bytes, which are written in turn. So a write that a crash interrupts damages only the slot that is being
// written; the other one has what was promised last. A slot begins with a header:
//
//	magic     8 bytes
//	number    8 bytes, of the write; the higher one counts
//	length    4 bytes, of what follows
//	checksum  4 bytes, CRC-32C of number, length and what follows
//
// All numbers are big-endian. The state follows in variable-length numbers (encode).

const (
	slotMagic  = "hdlwitn1"
	slotHeader = 24
	slotSize   = 64 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errDamaged is the error for a slot that can't be read.
var errDamaged = errors.New("damaged")

// File keeps a State on disk. It is for one goroutine.
type File struct {
	f      *os.File
	number uint64
	broken error
}

// OpenFile opens the file in a folder, or makes it, and returns what it holds.
func OpenFile(path string) (*File, State, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, State{}, err
	}
	w := &File{f: f}
	s, err := w.load()
	if err != nil {
		return nil, State{}, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return w, s, nil
}

// load returns the state of the newer whole slot.
func (w *File) load() (State, error) {
	raw, err := io.ReadAll(io.LimitReader(w.f, 2*slotSize+1))
	if err != nil {
		return State{}, err
	}
	if len(raw) != 2*slotSize {
		if len(bytes.Trim(raw, "\x00")) > 0 {
			return State{}, fmt.Errorf("it has %d bytes instead of %d; %w", len(raw), 2*slotSize, errDamaged)
		}
		return State{}, w.make() // interrupted before anything was promised
	}
	a, numberA, errA := parseSlot(raw[:slotSize])
	b, numberB, errB := parseSlot(raw[slotSize:])
	switch {
	case errA == nil && (errB != nil || numberA > numberB):
		w.number = numberA
		return a, nil
	case errB == nil:
		w.number = numberB
		return b, nil
	case len(bytes.Trim(raw, "\x00")) == 0:
		return State{}, nil
	}
	return State{}, fmt.Errorf("both copies of the state are %w (%w; %w): restore the folder, or remove it, and the witness joins as one that has forgotten everything", errDamaged, errA, errB)
}

// make gives the file its size.
func (w *File) make() error {
	if _, err := w.f.WriteAt(make([]byte, 2*slotSize), 0); err != nil {
		return err
	}
	if err := w.f.Sync(); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(w.f.Name()))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Save writes a state. It returns when that is on disk. After an error nothing can be written any more: only another process that reads the disk again knows
// what is on it.
func (w *File) Save(s State) error {
	if w.broken != nil {
		return w.broken
	}
	slot, err := formatSlot(s, w.number+1)
	if err == nil {
		w.number++
		_, err = w.f.WriteAt(slot, int64(w.number%2)*slotSize)
	}
	if err == nil {
		err = w.f.Sync()
	}
	if err != nil {
		w.broken = fmt.Errorf("write the witness's state: %w", err)
	}
	return w.broken
}

// Close closes the file.
func (w *File) Close() error { return w.f.Close() }

func formatSlot(s State, number uint64) ([]byte, error) {
	body := encode(s)
	if len(body) > slotSize-slotHeader {
		return nil, fmt.Errorf("the state has %d bytes, and %d are allowed", len(body), slotSize-slotHeader)
	}
	slot := append(make([]byte, slotHeader, slotHeader+len(body)), body...)
	copy(slot, slotMagic)
	binary.BigEndian.PutUint64(slot[8:], number)
	binary.BigEndian.PutUint32(slot[16:], uint32(len(body)))
	binary.BigEndian.PutUint32(slot[20:], checksum(slot))
	return slot, nil
}

// checksum returns the checksum of a slot without what lies behind its state.
func checksum(slot []byte) uint32 {
	return crc32.Update(crc32.Checksum(slot[8:20], castagnoli), castagnoli, slot[slotHeader:])
}

// parseSlot reads a slot of slotSize bytes, and the number of its write.
func parseSlot(slot []byte) (State, uint64, error) {
	if len(slot) < slotHeader || string(slot[:8]) != slotMagic {
		return State{}, 0, fmt.Errorf("%w: no state begins here", errDamaged)
	}
	length := binary.BigEndian.Uint32(slot[16:])
	if int64(length) > int64(len(slot)-slotHeader) {
		return State{}, 0, fmt.Errorf("%w: %d bytes of state", errDamaged, length)
	}
	slot = slot[:slotHeader+length]
	if checksum(slot) != binary.BigEndian.Uint32(slot[20:]) {
		return State{}, 0, fmt.Errorf("%w: wrong checksum", errDamaged)
	}
	s, err := decode(slot[slotHeader:])
	return s, binary.BigEndian.Uint64(slot[8:]), err
}

// encode writes a state: the numbers in the order of its fields; texts and lists follow their lengths.
func encode(s State) []byte {
	number := binary.AppendUvarint
	b := number(nil, s.Term)
	b = number(b, s.VotedIn)
	b = append(number(b, uint64(len(s.VotedFor))), s.VotedFor...)
	b = number(b, s.Commit)
	b = number(b, s.Last)
	b = number(b, uint64(len(s.Runs)))
	for _, r := range s.Runs {
		b = number(number(b, r.First), r.Term)
	}
	b = number(b, uint64(len(s.Lists)))
	for _, l := range s.Lists {
		b = number(b, l.Index)
		b = append(number(b, uint64(len(l.Data))), l.Data...)
	}
	return b
}

// reader reads what encode has written. After the first error it yields zeros.
type reader struct {
	b   []byte
	err error
}

func (r *reader) number() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 && r.err == nil {
		r.err = fmt.Errorf("%w: a number ends early", errDamaged)
	}
	if r.err != nil {
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) text(most uint64) []byte {
	n := r.number()
	if r.err == nil && (n > most || n > uint64(len(r.b))) {
		r.err = fmt.Errorf("%w: a text of %d bytes", errDamaged, n)
	}
	if r.err != nil {
		return nil
	}
	out := slices.Clone(r.b[:n])
	r.b = r.b[n:]
	return out
}

func (r *reader) count(most uint64) int {
	n := r.number()
	if r.err == nil && n > most {
		r.err = fmt.Errorf("%w: a list of %d", errDamaged, n)
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

// decode reads a state, and refuses those that no witness writes.
func decode(b []byte) (State, error) {
	r := &reader{b: b}
	s := State{Term: r.number(), VotedIn: r.number(), VotedFor: string(r.text(maxName)), Commit: r.number(), Last: r.number()}
	for range r.count(maxRuns) {
		s.Runs = append(s.Runs, Run{r.number(), r.number()})
	}
	for range r.count(maxLists) {
		s.Lists = append(s.Lists, List{r.number(), r.text(maxListBytes)})
	}
	if r.err == nil && len(r.b) > 0 {
		r.err = fmt.Errorf("%w: %d bytes too many", errDamaged, len(r.b))
	}
	if r.err == nil {
		r.err = s.check()
	}
	if r.err != nil {
		return State{}, r.err
	}
	return s, nil
}

// check returns an error for a state that contradicts itself.
func (s State) check() error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{errDamaged}, args...)...)
	}
	switch {
	case s.Commit > s.Last:
		return wrong("%d entries are committed, of %d", s.Commit, s.Last)
	case s.VotedIn > s.Term:
		return wrong("a vote in term %d, and the term is %d", s.VotedIn, s.Term)
	case (s.Last > 0) != (len(s.Runs) > 0):
		return wrong("%d entries in %d runs", s.Last, len(s.Runs))
	case len(s.Runs) > 0 && (s.Runs[0].First == 0 || s.Runs[0].First > max(s.Commit, 1) || s.LastTerm() > s.Term):
		return wrong("the first run begins with entry %d; the last one is of term %d", s.Runs[0].First, s.LastTerm())
	}
	for i, r := range s.Runs {
		if r.First > s.Last || r.Term == 0 || i > 0 && (r.First <= s.Runs[i-1].First || r.Term <= s.Runs[i-1].Term) {
			return wrong("run %d begins with entry %d, term %d", i, r.First, r.Term)
		}
	}
	for i, l := range s.Lists {
		if l.Index > s.Last || i > 0 && l.Index <= s.Lists[i-1].Index {
			return wrong("a list of members in entry %d", l.Index)
		}
		if err := checkList(l.Data); err != nil {
			return wrong("entry %d: %w", l.Index, err)
		}
	}
	return nil
}
