package preempt

import (
	"cmp"
	"math"
	"slices"

	"heddle/yarn/records"
)

// measure compares amounts of resources as YARN's calculators do: by memory, or by dominant share.
type measure struct {
	dominant bool
	cluster  records.Resource
}

// shares returns the parts of the cluster that an amount takes, largest first. Types that the cluster lacks count nothing.
func (m measure) shares(r records.Resource) (s [len(records.Resource{})]float64) {
	for i := range r {
		if m.cluster[i] > 0 {
			s[i] = float64(r[i]) / float64(m.cluster[i])
		} else {
			s[i] = math.Inf(-1)
		}
	}
	slices.SortFunc(s[:], func(a, b float64) int { return cmp.Compare(b, a) })
	return s
}

func (m measure) compare(a, b records.Resource) int {
	if !m.dominant {
		return cmp.Compare(a[records.Memory], b[records.Memory])
	}
	if a == b {
		return 0
	}
	x, y := m.shares(a), m.shares(b)
	return slices.Compare(x[:], y[:])
}

func (m measure) less(a, b records.Resource) bool { return m.compare(a, b) < 0 }
func (m measure) more(a, b records.Resource) bool { return m.compare(a, b) > 0 }
func (m measure) positive(r records.Resource) bool {
	return m.more(r, records.Resource{})
}

func (m measure) min(a, b records.Resource) records.Resource {
	if m.compare(a, b) <= 0 {
		return a
	}
	return b
}

func (m measure) max(a, b records.Resource) records.Resource {
	if m.compare(a, b) >= 0 {
		return a
	}
	return b
}

// ratio returns a in terms of b, by memory or dominant share; 0 is infinitely often in nothing.
func (m measure) ratio(a, b records.Resource) float64 {
	if !m.dominant {
		return divide(float64(a[records.Memory]), float64(b[records.Memory]))
	}
	return divide(m.shares(a)[0], m.shares(b)[0])
}

func divide(a, b float64) float64 {
	if b == 0 {
		return math.Inf(1)
	}
	return a / b
}

// measured are the types that count in comparisons.
func (m measure) measured(i int) bool {
	return i == records.Memory || m.dominant && m.cluster[i] > 0
}

// countedOf returns what an amount has of the types that count.
func (m measure) countedOf(r records.Resource) records.Resource {
	for i := range r {
		if !m.measured(i) {
			r[i] = 0
		}
	}
	return r
}

// fits reports whether one amount is within another, of the types that count.
func (m measure) fits(a, b records.Resource) bool {
	for i := range a {
		if a[i] > b[i] && m.measured(i) {
			return false
		}
	}
	return true
}

// anyPositive reports whether there is some of any type that counts.
func (m measure) anyPositive(r records.Resource) bool {
	for i, v := range r {
		if v > 0 && m.measured(i) {
			return true
		}
	}
	return false
}

// scaled returns an amount times a factor, cut off.
func scaled(r records.Resource, by float64) records.Resource {
	for i := range r {
		r[i] = records.Whole(float64(r[i]) * by)
	}
	return r
}

// scaledUp returns an amount times a factor, rounded up.
func scaledUp(r records.Resource, by float64) records.Resource {
	for i := range r {
		r[i] = up(r[i], by)
	}
	return r
}

// up rounds up, but what is less than a billionth over a whole number is taken for the rounding of the arithmetic.
func up(v int64, by float64) int64 { return records.Whole(math.Ceil(float64(v)*by - 1e-9)) }

// atLeast0 returns an amount without its negative parts.
func atLeast0(r records.Resource) records.Resource { return r.Max(records.Resource{}) }
