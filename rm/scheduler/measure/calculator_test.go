package measure_test

import (
	"testing"

	"heddle/rm/scheduler/measure"
	"heddle/yarn/records"
)

var r = records.NewResource

func calculators() (memory, dominant measure.Calculator) {
	memory, dominant = measure.New(2, r(1024, 1)), measure.New(2, r(1024, 1))
	memory.SetMemoryOnly(true)
	memory.Cluster, dominant.Cluster = r(100, 10), r(100, 10)
	return memory, dominant
}

func TestWhatIsMeasured(t *testing.T) {
	memory, dominant := calculators()
	if memory.Least != r(1024, 0) || dominant.Least != r(1024, 1) {
		t.Errorf("the smallest containers are %v and %v", memory.Least, dominant.Least)
	}
	for _, c := range []struct {
		size, in      records.Resource
		memory, every bool
	}{
		{r(2, 2), r(2, 2), true, true},
		{r(3, 1), r(2, 2), false, false},
		{r(2, 3), r(2, 2), true, false},
		{r(0, 0), r(-1, 0), false, false},
	} {
		if memory.Fits(&c.size, &c.in) != c.memory || dominant.Fits(&c.size, &c.in) != c.every {
			t.Errorf("%v in %v: by memory %t, by all %t", c.size, c.in, memory.Fits(&c.size, &c.in), dominant.Fits(&c.size, &c.in))
		}
	}
}

// Amounts are compared by their largest share of the cluster, then by the next one.
func TestLess(t *testing.T) {
	memory, dominant := calculators()
	for _, c := range []struct {
		a, b          records.Resource
		memory, every bool
	}{
		{r(10, 1), r(20, 2), true, true},
		{r(10, 5), r(20, 1), true, false}, // 50 % of the cores, 20 % of the memory
		{r(20, 1), r(10, 5), false, true},
		{r(50, 2), r(20, 5), false, false}, // 50 % and 20 % each
		{r(50, 1), r(20, 5), false, true},  // the second share decides
		{r(10, 1), r(10, 1), false, false},
	} {
		if memory.Less(&c.a, &c.b) != c.memory || dominant.Less(&c.a, &c.b) != c.every {
			t.Errorf("%v < %v: by memory %t, by shares %t", c.a, c.b, memory.Less(&c.a, &c.b), dominant.Less(&c.a, &c.b))
		}
	}
	if got := dominant.Larger(r(10, 5), r(20, 1)); got != r(10, 5) {
		t.Errorf("the larger is %v", got)
	}
	if got := dominant.Smaller(r(10, 5), r(20, 1)); got != r(20, 1) {
		t.Errorf("the smaller is %v", got)
	}
}

func TestShares(t *testing.T) {
	memory, dominant := calculators()
	amount := r(10, 5)
	if m, d := memory.Share(&amount), dominant.Share(&amount); m != 0.1 || d != 0.5 {
		t.Errorf("shares are %v and %v", m, d)
	}
	empty := measure.New(2, r(1, 1))
	if got := empty.Share(&amount); got != 0 {
		t.Errorf("of nothing it is %v", got)
	}
}

func TestSteps(t *testing.T) {
	memory, dominant := calculators()
	for _, c := range []struct {
		x       float64
		up, all int64
	}{
		{0, 0, 0},
		{1023, 1024, 1024},
		{1024, 1024, 1024},
		{1024.4, 1024, 2048},     // DefaultResourceCalculator rounds to the nearest first
		{1024.00001, 1024, 1024}, // an error of rounding adds no step
	} {
		if up, all := memory.StepUp(0, c.x), dominant.StepUp(0, c.x); up != c.up || all != c.all {
			t.Errorf("%v is rounded up to %d and %d", c.x, up, all)
		}
	}
	if got := dominant.Weighted(r(2048, 3), 1.7); got != r(3072, 5) {
		t.Errorf("weighs %v", got)
	}
}

func TestSpent(t *testing.T) {
	memory, dominant := calculators()
	for _, c := range []struct {
		used, room    records.Resource
		memory, every bool
	}{
		{r(10, 1), r(5, 1), false, false},
		{r(10, 1), r(0, 1), true, false},
		{r(10, 1), r(0, 0), true, true},
		{r(10, 1), r(5, -1), false, false}, // its largest share is of memory, of which something is left
		{r(1, 5), r(5, -1), false, true},
	} {
		if m, d := memory.Spent(&c.used, &c.room), dominant.Spent(&c.used, &c.room); m != c.memory || d != c.every {
			t.Errorf("%v used, %v left: %t and %t", c.used, c.room, m, d)
		}
	}
}
