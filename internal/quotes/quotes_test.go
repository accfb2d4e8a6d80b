package quotes_test

import (
	"math"
	"testing"

	"heddle/internal/quotes"
)

// One broken quote of twenty is what a 95th percentile allows, and fewer than twenty say nothing.
func TestBroken(t *testing.T) {
	for _, c := range []struct {
		given, broken int64
		want          float64
	}{{0, 0, 0}, {19, 19, 0}, {20, 1, 0}, {20, 0, 0}, {20, 20, 1}, {40, 21, .5}} {
		if got := quotes.Broken(c.given, c.broken); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%d of %d: %g, not %g", c.broken, c.given, got, c.want)
		}
	}
}
