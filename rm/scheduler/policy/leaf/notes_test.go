package leaf_test

import (
	"testing"

	"pgregory.net/rapid"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/policy/leaf"
)

// Notes are found by their containers only, and places of those that were removed are used again.
func TestNotes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var notes leaf.Notes[int]
		type entry struct {
			note  leaf.Note
			value int
		}
		want, most := map[handle.Container]entry{}, 0
		for i := range rapid.IntRange(0, 60).Draw(t, "steps") {
			c := handle.Container(rapid.IntRange(0, 9).Draw(t, "container"))
			if e, known := want[c]; known {
				notes.Remove(e.note)
				delete(want, c)
				if notes.At(c, e.note) != nil {
					t.Fatalf("container %d has a note that was removed", c)
				}
				continue
			}
			want[c] = entry{notes.Add(c, i), i}
			most = max(most, len(want))
			if int(want[c].note) > most {
				t.Fatalf("note %d, though there were %d at most", want[c].note, most)
			}
		}
		for c, e := range want {
			if got := notes.At(c, e.note); got == nil || *got != e.value {
				t.Fatalf("container %d: %v, want %d", c, got, e.value)
			}
			for _, other := range []leaf.Note{-1, 0, e.note + 1, 1000} {
				if notes.At(c, other) != nil {
					t.Fatalf("container %d is found by note %d", c, other)
				}
			}
			if notes.At(c+100, e.note) != nil {
				t.Fatalf("another container is found by the note of %d", c)
			}
		}
		n := 0
		for note, v := range notes.All {
			if n++; *v < 0 || note <= 0 {
				t.Fatalf("note %d has %d", note, *v)
			}
		}
		if n != len(want) {
			t.Fatalf("%d notes, want %d", n, len(want))
		}
	})
}
