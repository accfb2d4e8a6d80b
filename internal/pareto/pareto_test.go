package pareto

import (
	"math"
	"math/rand/v2"
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

// A window finds to the last bit what the function does, whatever comes and goes: also when the least time does, and with tasks that were cut off below it.
func TestWindowsFindTheSame(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var w Window
	for i := range 3000 {
		x := math.Pow(random.Float64(), -1/1.5)
		if i%700 == 0 {
			x = .5 // the least for as long as it is there
		}
		w.Add(x, random.IntN(8) == 0)
		if i%(1+random.IntN(20)) != 0 {
			continue
		}
		got, ended := w.Shape()
		if want, n := Shape(w.took); got != want || ended != n {
			t.Fatalf("after %d tasks: β is %v of %d, want %v of %d", i+1, got, ended, want, n)
		}
	}
}
