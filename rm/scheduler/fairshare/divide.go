package fairshare

import "math"

// Unlimited is a greatest share that doesn't bind.
const Unlimited = math.MaxInt64

// Party is a recipient of a part of an amount of one resource.
type Party struct {
	Weight   float64 // 0 or less: it has its minimum share, whatever the others have
	Min, Max int64   // least and greatest share; Max is Unlimited where there is none
	Active   bool    // has something to run; others have nothing of the instantaneous shares
}

// steps bounds the bisection; after them the ratio is exact to 2⁻²⁵ of the first upper bound.
const steps = 25

// Divide gives each party its fair share of an amount: weight times a ratio that is the same for all, but at least Min and
// at most Max, the ratio being such that the shares add up to the total, or to all greatest shares if those are less. Sums
// of minimum shares over the total are given all the same. Shares are whole numbers, cut off, so the sum may miss the total
// by less than one for each party (and by the bisection's rest). With steady set the shares are those that each would have
// if all were active.
//
// The shares are written to out, which has the length of parties. The ratio is found by bisection, as in Hadoop's
// ComputeFairShares, whose results these are to the unit.
func Divide(total int64, parties []Party, steady bool, out []int64) {
	var taken, most int64
	some := false
	for i := range parties {
		p := &parties[i]
		if share, ok := p.fixed(steady); ok {
			out[i] = share
			taken = addUp(taken, share)
			continue
		}
		some = true
		most = addUp(most, p.Max)
	}
	if !some {
		return
	}
	total = min(max(total-taken, 0), most)
	high := 1.0
	for used(parties, high, steady) < total {
		high *= 2
	}
	low := 0.0
	for range steps {
		middle := (low + high) / 2
		n := used(parties, middle, steady)
		if n < total {
			low = middle
			continue
		}
		high = middle
		if n == total {
			break
		}
	}
	for i := range parties {
		if _, ok := parties[i].fixed(steady); !ok {
			out[i] = parties[i].at(high)
		}
	}
}

// fixed returns the share of a party that doesn't take part in the division.
func (p *Party) fixed(steady bool) (int64, bool) {
	switch {
	case p.Max <= 0, !steady && !p.Active:
		return 0, true
	case !(p.Weight > 0):
		return max(p.Min, 0), true
	}
	return 0, false
}

// at returns the share of a party under a ratio of share to weight. Bounds are kept exactly, also where they are too large for
// a float64 to tell apart from their neighbours.
func (p *Party) at(ratio float64) int64 {
	share := p.Weight * ratio
	if least := min(p.Min, p.Max); share <= float64(least) {
		return max(least, 0)
	}
	if share >= float64(p.Max) {
		return p.Max
	}
	return int64(share)
}

func used(parties []Party, ratio float64, steady bool) (sum int64) {
	for i := range parties {
		if _, ok := parties[i].fixed(steady); !ok {
			sum = addUp(sum, parties[i].at(ratio))
		}
	}
	return sum
}

// addUp adds amounts of at least 0, and stays at the largest number where the sum would be more.
func addUp(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
