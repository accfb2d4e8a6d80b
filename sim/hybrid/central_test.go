package hybrid

import (
	"math/rand/v2"
	"testing"
)

// Draws are those of rand.Rand, so that results of a seed stay as they were.
func TestDrawsAreThoseOfRand(t *testing.T) {
	mine, theirs := rand.NewPCG(1, 2), rand.New(rand.NewPCG(1, 2))
	for _, n := range []uint64{9, 5, 1<<63 + 1} { // of the last, half are drawn again
		for range 1000 {
			if got, want := below(mine, n), theirs.Uint64N(n); got != want {
				t.Fatalf("%d is drawn below %d, not %d", got, n, want)
			}
		}
	}
}
