package forecast

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The score of the rank is above nine tenths of others in four of five cases, unless there are too few scores.
func TestRanksHoldNineTenths(t *testing.T) {
	for n, want := range map[int]int{5: 5, 12: 12, 20: 20, 30: 29, 50: 48, 100: 94} {
		if k := place(n); k != want {
			t.Errorf("of %d scores the %d. is taken, not the %d.", n, k, want)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	const cases, n = 2000, 40
	hold := 0
	for range cases {
		scores := make([]float64, n)
		for i := range scores {
			scores[i] = random.Float64()
		}
		slices.Sort(scores)
		if scores[place(n)-1] >= held {
			hold++
		}
	}
	if hold < cases*8/10 {
		t.Errorf("%d of %d cases hold nine tenths", hold, cases)
	}
}
