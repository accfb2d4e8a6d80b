package main

import (
	"bytes"
	"cmp"
	"slices"
)

// edit replaces the text between two offsets of a file.
type edit struct {
	from, to int
	text     string
	rank     int // of edits at one place: ascending for those that open, descending for those that close
	closes   bool
}

// apply makes edits. They must not overlap.
func apply(text []byte, edits []edit) []byte {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b edit) int {
		if a.from != b.from {
			return cmp.Compare(a.from, b.from)
		}
		if a.closes != b.closes { // a closing edit belongs to the text before the place
			if a.closes {
				return -1
			}
			return 1
		}
		if a.closes {
			return cmp.Compare(b.rank, a.rank)
		}
		return cmp.Compare(a.rank, b.rank)
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
