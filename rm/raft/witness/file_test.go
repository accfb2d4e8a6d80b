package witness

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func open(t *testing.T, path string) (*File, State) {
	t.Helper()
	w, s, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w, s
}

func save(t *testing.T, w *File, s State) {
	t.Helper()
	if err := w.Save(s); err != nil {
		t.Fatal(err)
	}
}

// A crash in the middle of a write leaves any part of it on disk. What was written before stays; what was being written is there whole, or not at all.
func TestAnInterruptedWriteLeavesWhatWasPromisedBefore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "witness")
	w, empty := open(t, path)
	if !empty.equal(State{}) {
		t.Fatalf("a new file holds %+v", empty)
	}
	first := State{}.mustAppend(t, request(2, 0, 0, 1, 1, 2), true)
	save(t, w, first)
	second := first.mustAppend(t, request(3, 2, 2, 2, 3, 3, 3), true)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	save(t, w, second)
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	differs := 0
	for i := range after {
		if before[i] == after[i] {
			continue
		}
		differs++
		torn := append(bytes.Clone(after[:i]), before[i:]...)
		if err := os.WriteFile(path, torn, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, got := open(t, path); !got.equal(first) {
			t.Fatalf("a write that ended at byte %d leaves %+v", i, got)
		}
	}
	if differs == 0 {
		t.Fatal("nothing was written")
	}
	if err := os.WriteFile(path, after, 0o600); err != nil {
		t.Fatal(err)
	}
	w, got := open(t, path)
	if !got.equal(second) || !bytes.Equal(got.Lists[0].Data, second.Lists[0].Data) {
		t.Fatalf("%+v came back as %+v", second, got)
	}
	third := second.mustAppend(t, request(4, 5, 3, 5), true)
	save(t, w, third)
	if _, got := open(t, path); !got.equal(third) {
		t.Errorf("after a restart %+v was written, and is %+v", third, got)
	}
}

func TestADamagedFileIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "witness")
	for name, raw := range map[string][]byte{
		"another size": make([]byte, 100), "text": []byte("something else"), "both slots": append(make([]byte, 2*slotSize-1), 1),
	} {
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		w, s, err := OpenFile(path)
		if name == "another size" { // a crash while it was made
			if err != nil || !s.equal(State{}) {
				t.Errorf("%s: %+v, %v", name, s, err)
			}
			_ = w.Close()
			continue
		}
		if !errors.Is(err, errDamaged) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

// A process never writes again after a failed write.
func TestNothingIsWrittenAfterAFailedWrite(t *testing.T) {
	w, _ := open(t, filepath.Join(t.TempDir(), "witness"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	first := w.Save(State{Term: 1})
	if first == nil {
		t.Fatal("a closed file was written to")
	}
	if err := w.Save(State{Term: 2}); !errors.Is(err, first) {
		t.Errorf("then: %v", err)
	}
}

// Whatever a slot holds, it is refused, or a state that is written the same way.
func FuzzSlot(f *testing.F) {
	for _, s := range []State{{}, {Term: 3, VotedIn: 3, VotedFor: "rm2"}, {Term: 2, Commit: 1, Last: 4, Runs: []Run{{1, 1}, {3, 2}}, Lists: []List{{1, members("rm1", "rm2", "witness")}}}} {
		slot, err := formatSlot(s, 7)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(slot)
		f.Add(encode(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		parsed, number, err := parseSlot(raw)
		if err != nil {
			// The checksum hides the decoder from the fuzzer.
			if parsed, err = decode(raw); err != nil {
				return
			}
			number = 1
		}
		if err := parsed.check(); err != nil {
			t.Fatalf("%+v: %v", parsed, err)
		}
		slot, err := formatSlot(parsed, number)
		if err != nil {
			t.Fatal(err)
		}
		if back, n, err := parseSlot(slot); err != nil || n != number || !back.equal(parsed) {
			t.Errorf("%+v came back as %+v, %v", parsed, back, err)
		}
		parsed.Vote(Ballot{Candidate: "rm1", Term: 9}, "witness")
	})
}
