package records

import (
	"math"
	"math/bits"
)

// MaxAmount is the largest amount of a resource type that one node can offer, and one container ask for: 281 million million. Sums over all nodes
// and containers then fit into an int64, also if nodes offer "no limit" of a type. 256 EiB of memory in MiB, and 256 TiB of what is counted in bytes.
const MaxAmount = 1 << 48

func plus(a, b int64) int64 {
	if s := a + b; (a^s)&(b^s) >= 0 {
		return s
	}
	return bound(a < 0)
}

func minus(a, b int64) int64 {
	if d := a - b; (a^b)&(a^d) >= 0 {
		return d
	}
	return bound(a < 0)
}

func bound(negative bool) int64 {
	if negative {
		return math.MinInt64
	}
	return math.MaxInt64
}

// MulDiv returns v·n/d, rounded towards 0, without an overflow between; where the result doesn't fit it stays at the bounds of int64. d is above 0.
func MulDiv(v, n, d int64) int64 {
	negative := v < 0 != (n < 0)
	high, low := bits.Mul64(magnitude(v), magnitude(n))
	if high >= uint64(d) {
		return bound(negative)
	}
	q, _ := bits.Div64(high, low, uint64(d))
	switch {
	case q > math.MaxInt64:
		return bound(negative)
	case negative:
		return -int64(q)
	}
	return int64(q)
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// Whole returns the whole part of a number. It stays at the bounds of int64 where it is larger, and is 0 for NaN. (The conversion of Go
// returns a negative number for a large one on some machines.)
func Whole(x float64) int64 {
	switch {
	case x >= math.MaxInt64:
		return math.MaxInt64
	case x <= math.MinInt64:
		return math.MinInt64
	case x != x:
		return 0
	}
	return int64(x)
}

// Int32 returns v, or the bound of int32 that is nearest to it.
func Int32(v int64) int32 { return int32(min(max(v, math.MinInt32), math.MaxInt32)) }
