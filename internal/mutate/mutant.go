package main

import (
	"fmt"
	"hash/fnv"
	"sort"
	"strings"
)

// mutant is one change of the code.
type mutant struct {
	id   int32 // from 1, across all packages of a run
	dir  string
	file string // name within dir
	fn   string // function or method that it is in, "" for a variable of the package
	line int
	was  string // what the change replaces
	now  string // what it is replaced with; "" = nothing

	before, after string // the lines that it changes
	output        []byte // of the tests that killed it
}

// String names a mutant without its line, so that a name outlives changes elsewhere in the file.
func (m *mutant) String() string {
	return fmt.Sprintf("%s %s: `%s` -> `%s`", m.file, m.fn, squeeze(m.was), squeeze(m.now))
}

// squeeze puts a text on one line.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// sample draws n of the mutants. The seed and a mutant's own name decide, so a change elsewhere draws the others again.
// 0 draws all of them.
func sample(all []*mutant, n int, seed int64) []*mutant {
	if n <= 0 || n >= len(all) {
		return all
	}
	rank := make(map[*mutant]uint64, len(all))
	count := map[string]int{}
	for _, m := range all {
		name := m.dir + "/" + m.String()
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

// mix spreads what names that differ in their ends only have in common (the last step of MurmurHash3).
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
