package records

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// whole returns what fits of a number into an int64.
func whole(x *big.Int) int64 {
	switch {
	case x.IsInt64():
		return x.Int64()
	case x.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// Sums and products wrapped: two nodes with 2^62 of a type had less than nothing together.
func TestSumsAndProductsDontWrap(t *testing.T) {
	edges := rapid.SampledFrom([]int64{0, 1, -1, 1000, 1 << 32, MaxAmount, 1 << 62, -1 << 62, math.MaxInt64 - 1, math.MaxInt64, math.MinInt64, math.MinInt64 + 1})
	number := rapid.OneOf(edges, rapid.Int64())
	rapid.Check(t, func(t *rapid.T) {
		a, b, d := number.Draw(t, "a"), number.Draw(t, "b"), rapid.Int64Range(1, math.MaxInt64).Draw(t, "d")
		x, y := big.NewInt(a), big.NewInt(b)
		var sum, difference, product, quotient big.Int
		product.Mul(x, y)
		r, o := Resource{a, 1}, Resource{b, 1}
		if got := r.Add(o); got != (Resource{whole(sum.Add(x, y)), 2}) {
			t.Errorf("%d + %d is %v", a, b, got)
		}
		if got := r.Sub(o); got != (Resource{whole(difference.Sub(x, y)), 0}) {
			t.Errorf("%d - %d is %v", a, b, got)
		}
		if got := r.Times(b); got != (Resource{whole(&product), b}) {
			t.Errorf("%d * %d is %v", a, b, got)
		}
		if got := MulDiv(a, b, d); got != whole(quotient.Quo(&product, big.NewInt(d))) {
			t.Errorf("%d * %d / %d is %d", a, b, d, got)
		}
	})
}

// Large numbers became negative, and so a limit of a queue with a large factor was below nothing.
func TestLargeFloatsDontBecomeNegative(t *testing.T) {
	for x, want := range map[float64]int64{
		1e30: math.MaxInt64, -1e30: math.MinInt64, math.Inf(1): math.MaxInt64, math.Inf(-1): math.MinInt64, 1 << 63: math.MaxInt64,
		-1 << 63: math.MinInt64, 7.9: 7, -7.9: -7,
	} {
		if got := Whole(x); got != want {
			t.Errorf("%g is %d", x, got)
		}
	}
	if got := Whole(math.NaN()); got != 0 {
		t.Errorf("NaN is %d", got)
	}
}

// Hadoop's message has 32 bits for vcores: a node with 2^32 of them had none.
func TestManyVCoresAreCutOnTheWire(t *testing.T) {
	if n := (ResourceTypes{}).PB(NewResource(1, 1<<32)).GetVirtualCores(); n != math.MaxInt32 {
		t.Errorf("%d", n)
	}
	if n := (ResourceTypes{}).PB(NewResource(1, -1<<32)).GetVirtualCores(); n != math.MinInt32 {
		t.Errorf("%d", n)
	}
}
