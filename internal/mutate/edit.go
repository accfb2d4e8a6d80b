package main

import (
	"bytes"
	"cmp"
	"slices"
)

// edit puts text in place of what is between two offsets of a file.
type edit struct {
	from, to int
	text     string
	order    int // of edits at one place: those that open come in the order of this, those that close in reverse
	closes   bool
}

// apply makes edits, which must not overlap.
func apply(text []byte, edits []edit) []byte {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b edit) int {
		if a.from != b.from {
			return cmp.Compare(a.from, b.from)
		}
		if a.closes != b.closes { // what closes belongs to what is in front of the place
			if a.closes {
				return -1
			}
			return 1
		}
		if a.closes {
			return cmp.Compare(b.order, a.order)
		}
		return cmp.Compare(a.order, b.order)
	})
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		out.Write(text[at:e.from])
		out.WriteString(e.text)
		at = e.to
	}
	out.Write(text[at:])
	return out.Bytes()
}
