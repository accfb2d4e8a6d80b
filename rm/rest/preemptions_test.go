package rest

import (
	"math"
	"testing"

	"heddle/rm/scheduler/preempt"
)

// What no number of ms can say, because nobody knows or because an application claims to be hardly on its way, is missing.
func TestPricesThatNobodyKnows(t *testing.T) {
	for room, want := range map[float64]int64{0: 0, 1.5: 1500, math.Inf(1): -1, math.NaN(): -1, 1e30: -1} {
		got := int64(-1)
		if p := priceOf(&preempt.Price{Room: room}); p.Room != nil {
			got = *p.Room
		}
		if got != want {
			t.Errorf("%v s: %d ms, want %d", room, got, want)
		}
	}
}
