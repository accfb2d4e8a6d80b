package main

import (
	"fmt"
	"hash/fnv"
	"sort"
	"strings"
)

// mutant is one change of the code.
type mutant struct {
	id   int32  // from 1, across all packages of a run
	pkg  string // import path
	dir  string
	file string // name within dir
	fn   string // function or method around it, "" for a variable of the package
	line int
	was  string // replaced text
	now  string // replacement; "" = nothing

	before, after string // the changed lines
	output        []byte // output of the tests that killed it
}

// String names a mutant without its line number. So the name stays valid when other parts of the file change.
func (m *mutant) String() string {
	return fmt.Sprintf("%s %s: `%s` -> `%s`", m.file, m.fn, squeeze(m.was), squeeze(m.now))
}

// squeeze returns a text on one line.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// sample draws n of the mutants. The seed and a mutant's own name decide, with its package's. So after a change elsewhere, and in
// another folder, it draws the same ones. 0 draws all of them.
func sample(all []*mutant, n int, seed int64) []*mutant {
	if n <= 0 || n >= len(all) {
		return all
	}
	rank := make(map[*mutant]uint64, len(all))
	count := map[string]int{}
	for _, m := range all {
		name := m.pkg + "/" + m.String()
		count[name]++
		h := fnv.New64a()
		fmt.Fprintf(h, "%d %d %s", seed, count[name], name)
		rank[m] = mix(h.Sum64())
	}
	drawn := append([]*mutant(nil), all...)
	sort.Slice(drawn, func(i, j int) bool { return rank[drawn[i]] < rank[drawn[j]] })
	drawn = drawn[:n]
	sort.Slice(drawn, func(i, j int) bool { return drawn[i].id < drawn[j].id })
	return drawn
}

// mix spreads hashes of names that differ only in their ends (the last step of MurmurHash3).
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
