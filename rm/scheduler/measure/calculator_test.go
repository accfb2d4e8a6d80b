package measure_test

import (
	"math"
	"slices"
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
	if memory.Smallest != r(1024, 0) || dominant.Smallest != r(1024, 1) {
		t.Errorf("the smallest containers are %v and %v", memory.Smallest, dominant.Smallest)
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
	for _, x := range []struct {
		cluster records.Resource
		want    float64
	}{{r(100, 0), 0.1}, {r(0, 10), 0}} {
		memory.Cluster = x.cluster
		if got := memory.Share(&amount); got != x.want {
			t.Errorf("by memory it is %v of %v, want %v", got, x.cluster, x.want)
		}
	}
	empty := measure.New(2, r(1, 1))
	if got := empty.Share(&amount); got != 0 {
		t.Errorf("of nothing it is %v", got)
	}
}

// A type that the cluster lacks makes no amount larger.
func TestTypesThatTheClusterLacks(t *testing.T) {
	c := measure.New(3, r(1024, 1))
	c.Cluster = r(100, 10)
	a, b := r(20, 1), r(10, 5) // 20 % of the memory, and 50 % of the cores
	a[2] = 7
	if !c.Less(&a, &b) || c.Less(&b, &a) {
		t.Errorf("%v is larger than %v", a, b)
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

// three makes an amount of memory, cores and a third type.
func three(mb, cores, third int64) (r records.Resource) {
	r[records.Memory], r[records.VCores], r[records.VCores+1] = mb, cores, third
	return r
}

// Amounts are added type by type, whatever is measured.
func TestSums(t *testing.T) {
	for _, only := range []bool{true, false} {
		c := measure.New(3, three(1, 1, 1))
		c.SetMemoryOnly(only)
		sum, more := three(100, 20, 3), three(1, 2, 4)
		if c.Add(&sum, &more); sum != three(101, 22, 7) {
			t.Errorf("the sum is %v", sum)
		}
		if c.Sub(&sum, &more); sum != three(100, 20, 3) {
			t.Errorf("the difference is %v", sum)
		}
		if got := c.Negative(&more); got != three(-1, -2, -4) {
			t.Errorf("the negative is %v", got)
		}
	}
	two := measure.New(2, three(1, 1, 0))
	sum, more := three(1, 1, 1), three(1, 1, 1)
	if two.Add(&sum, &more); sum != three(2, 2, 1) {
		t.Errorf("of two types the sum is %v", sum)
	}
	if two.Sub(&sum, &more); sum != three(1, 1, 1) {
		t.Errorf("of two types the difference is %v", sum)
	}
}

// What isn't measured counts for nothing, and types beyond those that there are don't either.
func TestWhatCounts(t *testing.T) {
	memory, dominant := calculators()
	amount := three(5, 7, 9)
	if m, d := memory.Measure(amount), dominant.Measure(amount); m != three(5, 0, 0) || d != amount {
		t.Errorf("measured are %v and %v", m, d)
	}
	third := measure.New(3, three(1, 1, 1))
	third.Cluster = three(100, 10, 10)
	room := three(9, 9, 8)
	if third.Fits(&amount, &room) || !dominant.Fits(&amount, &room) {
		t.Error("the third type counts where there are three, and else doesn't")
	}
	if s, d := third.Share(&amount), dominant.Share(&amount); s != 0.9 || d != 0.7 {
		t.Errorf("shares are %v of three types and %v of two", s, d)
	}
	less := three(5, 7, 8)
	if third.Less(&amount, &less) || !third.Less(&less, &amount) || dominant.Less(&less, &amount) {
		t.Error("amounts are compared by the types that there are")
	}
}

// Nothing is a part of a cluster without resources, or without one of a type.
func TestEmptyClusters(t *testing.T) {
	for _, only := range []bool{true, false} {
		c := measure.New(2, r(1, 1))
		c.SetMemoryOnly(only)
		amount, nothing := r(10, 5), r(0, 0)
		for _, of := range []records.Resource{nothing, r(-1, -1), r(0, -3)} {
			if got := c.ShareOf(&amount, &of); got != 0 {
				t.Errorf("%v is %v of %v", amount, got, of)
			}
		}
		if of := r(20, 10); c.ShareOf(&amount, &of) != 0.5 || c.ShareOf(&nothing, &of) != 0 {
			t.Errorf("%v is %v of %v", amount, c.ShareOf(&amount, &of), of)
		}
	}
	c := measure.New(2, r(1, 1))
	of, debt := r(20, 10), r(-10, -2)
	if got := c.ShareOf(&debt, &of); got != 0 {
		t.Errorf("what is owed is %v of the cluster", got)
	}
	// A cluster without cores: memory decides alone.
	c.Cluster = r(100, 0)
	for _, x := range []struct {
		a, b records.Resource
		less bool
	}{{r(1, 9), r(2, 0), true}, {r(2, 0), r(1, 9), false}, {r(1, 0), r(1, 9), false}, {r(1, 9), r(1, 0), false}} {
		if c.Less(&x.a, &x.b) != x.less {
			t.Errorf("%v is less than %v: %t", x.a, x.b, !x.less)
		}
	}
	used, room := r(10, 0), r(0, 5)
	if !c.Spent(&used, &room) {
		t.Error("something is left where the memory is spent and there are no cores")
	}
	if room = r(5, -5); c.Spent(&used, &room) {
		t.Error("nothing is left where there is memory, and cores are owed that there aren't")
	}
}

// Of three types, two of which are each the larger of one amount, the largest share decides, and then the next one.
func TestLessByTheNextShare(t *testing.T) {
	c := measure.New(3, three(1, 1, 1))
	c.Cluster = three(100, 10, 1000)
	for _, x := range []struct {
		a, b records.Resource
		less bool
	}{
		{three(50, 2, 100), three(10, 5, 300), true},
		{three(10, 5, 300), three(50, 2, 100), false},
		{three(50, 2, 100), three(20, 5, 100), false},
		{three(20, 5, 100), three(50, 2, 100), false},
		{three(0, 5, 100), three(50, 0, 200), true},
		{three(-10, 5, 0), three(50, 0, -200), false},
	} {
		if c.Less(&x.a, &x.b) != x.less {
			t.Errorf("%v is less than %v: %t", x.a, x.b, !x.less)
		}
		larger, smaller := x.a, x.b
		if x.less {
			larger, smaller = x.b, x.a
		}
		if c.Less(&x.a, &x.b) || c.Less(&x.b, &x.a) {
			if got := [4]records.Resource{c.Larger(x.a, x.b), c.Larger(x.b, x.a), c.Smaller(x.a, x.b), c.Smaller(x.b, x.a)}; got != [4]records.Resource{
				larger, larger, smaller, smaller,
			} {
				t.Errorf("of %v and %v the larger and the smaller are %v", x.a, x.b, got)
			}
		}
	}
	equal, other := three(50, 2, 100), three(20, 5, 100)
	if c.Larger(equal, other) != equal || c.Smaller(equal, other) != equal {
		t.Error("of equal amounts it isn't the first")
	}
}

// A queue has nothing left where no type has any, or where it lacks what it uses most of.
func TestSpentByTypes(t *testing.T) {
	c := measure.New(2, r(1, 1))
	c.Cluster = r(100, 10)
	for _, x := range []struct {
		used, room records.Resource
		spent      bool
	}{
		{r(10, 5), r(0, -1), true},
		{r(10, 5), r(1, 0), false},
		{r(10, 5), r(-1, 1), false},
		{r(60, 4), r(-1, 1), true},
		{r(60, 5), r(-1, 1), false},  // 59 MB and 6 cores are more than what is used, by the second share
		{r(50, 5), r(-10, 1), false}, // its largest share is of cores then
		{r(0, 0), r(-1, -1), true},
		{r(0, 0), r(0, 1), false},
	} {
		if got := c.Spent(&x.used, &x.room); got != x.spent {
			t.Errorf("%v used, %v left: %t", x.used, x.room, got)
		}
	}
}

func TestRounding(t *testing.T) {
	c := measure.New(3, three(1024, 0, 1))
	c.SetMemoryOnly(true)
	for _, x := range []struct {
		i    int
		x    float64
		want int64
	}{{1, 3.4, 3}, {1, 3.5, 4}, {2, 3.6, 4}, {0, 1023.5, 1024}, {0, 1024.5, 2048}, {0, 0.4, 0}, {1, 0.5, 1}} {
		if got := c.StepUp(x.i, x.x); got != x.want {
			t.Errorf("%v of type %d is rounded up to %d, want %d", x.x, x.i, got, x.want)
		}
	}
	// Down to whole steps, where an error of rounding takes none away.
	if got := c.Weighted(three(10240, 7, 10), 0.7); got != three(7168, 4, 7) {
		t.Errorf("7 tenths are %v", got)
	}
	if got := c.Weighted(three(0, 0, 100), 0.29); got != three(0, 0, 29) { // 28.999999999999996
		t.Errorf("29 hundredths of 100 are %v", got)
	}
	shares := []float64{0.1, 0.5, 0.3, 0.5, 0.2}
	if measure.Descend(shares); !slices.Equal(shares, []float64{0.5, 0.5, 0.3, 0.2, 0.1}) {
		t.Errorf("sorted: %v", shares)
	}
}

// Hadoop: SizeBasedWeight and FSAppAttempt: the binary logarithm of memory in MB, and one; at least 1.
func TestWeightBySize(t *testing.T) {
	for mb, want := range map[int64]float64{0: 1, 1: 1, 3: 2, 1023: 10} {
		if got := measure.SizeWeight(mb/2, mb-mb/2); math.Abs(got-want) > 1e-9 {
			t.Errorf("%d MB weigh %v, want %v", mb, got, want)
		}
	}
}
