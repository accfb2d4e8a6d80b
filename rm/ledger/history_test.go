package ledger

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/usage"
	"heddle/yarn/records"
)

// A history of random batches, of which many commands are refused, leaves a state whose sums are right, which a snapshot
// brings back field by field, and which its clone follows without being touched by what is applied to the original. Every kind of
// command is drawn, and taken at some time.
func TestRandomHistories(t *testing.T) {
	taken := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		h := history{s: New(), taken: taken}
		h.apply(t, commands{h.command(t, New(), 0, []string{"cluster_created"}), register(node1, records.NewResource(8192, 8))}.at(0))
		var now int64
		for range rapid.IntRange(20, 60).Draw(t, "batches") {
			now += rapid.Int64Range(0, 2000).Draw(t, "ms")
			h.apply(t, h.batch(t, now))
		}
		image := snapshotOf(t, h.s)
		restored, err := ReadSnapshot(bytes.NewReader(image))
		if err != nil {
			t.Fatal(err)
		}
		if err := restored.Check(); err != nil {
			t.Fatal(err)
		}
		if d := differences(h.s, restored); len(d) > 0 {
			t.Fatalf("a snapshot came back different:\n%s", strings.Join(d, "\n"))
		}
		if !bytes.Equal(image, snapshotOf(t, restored)) {
			t.Fatal("the snapshot of a snapshot is another")
		}
	})
	for _, kind := range kinds {
		if taken[kind] == 0 && !t.Failed() {
			t.Errorf("no %s was ever taken: its effect is not tested", kind)
		}
	}
}

// Each kind of command that there is has a generator, so that a new one can't be forgotten.
func TestHistoriesHaveEveryKindOfCommand(t *testing.T) {
	fields := (&ledgerpb.Command{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if name := string(fields.Get(i).Name()); generators[name] == nil {
			t.Errorf("random histories have no %s", name)
		}
	}
	if len(generators) != fields.Len() {
		t.Errorf("%d generators for %d kinds of commands", len(generators), fields.Len())
	}
	rapid.Check(t, func(t *rapid.T) {
		s := New()
		for _, kind := range kinds {
			if got := kindOf(generators[kind](t, s)); got != kind {
				t.Fatalf("the generator of %s makes a %s", kind, got)
			}
		}
	})
}

// history is a state, and how it came about.
type history struct {
	s     *State
	taken map[string]int // commands that a state took, by kind

	frozen *Frozen // at some time, and its snapshot then
	image  []byte
}

// usage is the history of use as another member has it.
func (h *history) usage() *usage.History {
	own := usage.New()
	for r := range h.s.Usage.Freeze().Records() {
		if err := own.Restore(r); err != nil {
			panic(err)
		}
	}
	return own
}

// apply applies a batch, and looks at a follower that does the same.
func (h *history) apply(t *rapid.T, batch *ledgerpb.Batch) {
	s := h.s
	follower := s.Clone()
	follower.Usage = h.usage()
	before := snapshotOf(t, follower)
	if h.frozen == nil || rapid.IntRange(0, 3).Draw(t, "freeze") == 0 {
		h.frozen, h.image = s.Freeze(), before
	}
	_ = s.Apply(batch)
	if !bytes.Equal(h.image, snapshotOf(t, h.frozen)) {
		t.Fatalf("applying %v to a state changed what it was when it was frozen", batch)
	}
	if err := s.Check(); err != nil {
		t.Fatalf("after %v: %v", batch, err)
	}
	if !bytes.Equal(before, snapshotOf(t, follower)) {
		t.Fatalf("applying %v to a state changed its clone", batch)
	}
	raw, err := Encode(batch)
	if err != nil {
		t.Fatal(err)
	}
	read, err := Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	_ = follower.Apply(read)
	if !bytes.Equal(snapshotOf(t, s), snapshotOf(t, follower)) {
		t.Fatalf("a follower that read %v from the log disagrees:\n%s", batch, strings.Join(differences(s, follower), "\n"))
	}
}

// batch draws one or a few commands. Behind one that was refused only a new leader goes on.
func (h *history) batch(t *rapid.T, now int64) *ledgerpb.Batch {
	probe := h.s.Clone()
	var c commands
	if h.s.Void > 0 {
		c = commands{h.command(t, probe, now, []string{"leader_started"})}
	} else {
		for range rapid.IntRange(1, 4).Draw(t, "commands") {
			c = append(c, h.command(t, probe, now, often))
		}
	}
	b := c.at(now)
	b.Leadership = expected(b, h.s.Leaders)
	return b
}

// command draws a command of one of some kinds, and again if the state refuses it: most commands are to be taken, and some not.
func (h *history) command(t *rapid.T, probe *State, now int64, of []string) (c *ledgerpb.Command) {
	for range 5 {
		kind := rapid.SampledFrom(of).Draw(t, "kind")
		c = generators[kind](t, probe)
		if probe.ApplyCommand(created+now, c) == nil {
			h.taken[kind]++
			return c
		}
	}
	return c
}

func snapshotOf(t *rapid.T, s interface{ WriteSnapshot(io.Writer) error }) []byte {
	var b bytes.Buffer
	if err := s.WriteSnapshot(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
