package probes

import (
	"math/rand/v2"
	"testing"
	"time"
)

// Of tasks that are alike the same is expected, although they differ a little. What is expected follows when tasks take another time.
func TestEstimatesOfAlikeJobsAreTheSame(t *testing.T) {
	var e estimate
	if got := e.tell(); got != 0 {
		t.Errorf("of nothing known: %v", got)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for _, mean := range []time.Duration{100 * time.Millisecond, time.Second, time.Millisecond} {
		for range 200 {
			e.learn(time.Duration(float64(mean) * (0.8 + 0.4*rng.Float64())))
		}
		first := e.tell()
		if first < mean*7/10 || first > mean*13/10 {
			t.Errorf("tasks take %v, and are expected to take %v", mean, first)
		}
		for range 1000 {
			e.learn(time.Duration(float64(mean) * (0.8 + 0.4*rng.Float64())))
			if got := e.tell(); got != first {
				t.Fatalf("%v and then %v, with tasks of %v", first, got, mean)
			}
		}
	}
}
