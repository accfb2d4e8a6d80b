package pareto

import (
	"math"
	"testing"
)

func TestShape(t *testing.T) {
	quantiles := func(beta float64, n int) (all []float32) {
		for i := range n {
			all = append(all, float32(math.Pow(1-(float64(i)+.5)/float64(n), -1/beta)))
		}
		return all
	}
	for _, want := range []float64{1.1, 1.4, 1.9} {
		if got, ended := Shape(quantiles(want, 400)); math.Abs(got-want) > .05 || ended != 400 {
			t.Errorf("β is %v of %d, want %v", got, ended, want)
		}
		cut := quantiles(want, 400)
		for i, x := range cut {
			if x > 3 {
				cut[i] = -3
			}
		}
		if got, ended := Shape(cut); math.Abs(got-want) > .05 || ended >= 400 {
			t.Errorf("cut off at 3: β is %v of %d, want %v", got, ended, want)
		}
	}
	if got, ended := Shape(quantiles(1.5, Enough-1)); got != 0 || ended != Enough-1 {
		t.Errorf("too few tasks: %v of %d", got, ended)
	}
	if got, _ := Shape(make([]float32, 100)); got != 0 {
		t.Errorf("tasks without a time: %v", got)
	}
	same := quantiles(1.5, 100)
	for i := range same {
		same[i] = 2
	}
	if got, _ := Shape(same); !math.IsInf(got, 1) {
		t.Errorf("equal times: %v", got)
	}
}
