package rest

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The numbers are those of a stock FairScheduler.
func TestDivide(t *testing.T) {
	for _, c := range []struct {
		total  int64
		claims []claim
		want   []int64
	}{
		{8192, []claim{{1, 0, 8192}, {3, 1024, 8192}}, []int64{2048, 6144}},
		{3, []claim{{1, 0, 8}, {1, 0, 4}}, []int64{2, 2}},
		{6144, []claim{{1, 0, 8192}, {1, 0, 1000}}, []int64{5144, 1000}},
		{8192, []claim{{}, {}}, []int64{0, 0}},
		{100, nil, []int64{}},
	} {
		if got := divide(c.total, c.claims); !slices.Equal(got, c.want) {
			t.Errorf("%d among %v: %v, not %v", c.total, c.claims, got, c.want)
		}
	}
}

// Nobody gets less than he must have or more than he may, and who is lighter never gets more than an otherwise equal one.
func TestDivideIsFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Int64Range(0, 1<<40).Draw(t, "total")
		claims := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) claim {
			most := rapid.Int64Range(0, 1<<40).Draw(t, "most")
			return claim{float64(rapid.IntRange(0, 100).Draw(t, "weight")), rapid.Int64Range(0, most).Draw(t, "least"), most}
		}), 0, 6).Draw(t, "claims")
		got := divide(total, claims)
		for i, c := range claims {
			if got[i] < c.least || got[i] > c.most {
				t.Fatalf("%v gets %d", c, got[i])
			}
			for k, d := range claims {
				if c.least == d.least && c.most == d.most && c.weight < d.weight && got[i] > got[k] {
					t.Fatalf("%v gets %d, %v %d", c, got[i], d, got[k])
				}
			}
		}
	})
}
