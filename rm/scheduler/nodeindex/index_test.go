package nodeindex_test

import (
	"testing"

	"pgregory.net/rapid"

	"heddle/rm/scheduler/nodeindex"
	"heddle/yarn/records"
)

// After any history the index finds what a look at all nodes finds.
func TestIndexFindsTheFirstWithRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := nodeindex.New(2)
		model := map[int]records.Resource{}
		for range rapid.IntRange(1, 60).Draw(t, "sets") {
			i := rapid.IntRange(0, 40).Draw(t, "leaf")
			r := records.NewResource(rapid.Int64Range(-1, 3).Draw(t, "mb"), rapid.Int64Range(-1, 3).Draw(t, "cores"))
			x.Set(i, &r)
			model[i] = r
			from := rapid.IntRange(0, 45).Draw(t, "from")
			need := records.NewResource(rapid.Int64Range(0, 3).Draw(t, "need mb"), rapid.Int64Range(0, 3).Draw(t, "need cores"))
			want := -1
			for j := from; j <= 40 && want < 0; j++ {
				if r, ok := model[j]; ok && need.FitsIn(r) {
					want = j
				}
			}
			if got := x.Next(from, &need); got != want {
				t.Fatalf("next(%d, %v) = %d, want %d", from, need, got, want)
			}
		}
	})
}
