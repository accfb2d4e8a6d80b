package fair

import (
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/measure"
	"heddle/rm/scheduler/ranking"
	"heddle/yarn/records"
)

// fairKey is YARN's FairSharePolicy: those below their minimum share first, by how far; then by memory over weight.
func fairKey(used, pending, minimum *records.Resource, weight float64) (rank uint8, ratio float64) {
	m := used[records.Memory]
	low := min(minimum[records.Memory], m+pending[records.Memory])
	switch {
	case m < low:
		return 0, float64(m) / float64(max(low, 1))
	case weight > 0:
		return 1, float64(m) / weight
	default:
		return 2, float64(m)
	}
}

// dominantKey is YARN's DominantResourceFairnessPolicy: those first whose dominant resource is below its minimum share; then
// by shares of the cluster over weight, the largest first. It reports whether that has changed.
func (p *Policy) dominantKey(k *ranking.Key, was *measure.Shares, used, minimum *records.Resource, weight float64) bool {
	var shares measure.Shares
	dominant, rank := 0, uint8(1)
	for i, n := range used {
		if p.s.Calc.Cluster[i] > 0 {
			shares[i] = float64(n) / float64(p.s.Calc.Cluster[i])
		}
		if shares[i] > shares[dominant] {
			dominant = i
		}
	}
	if minimum[dominant] > used[dominant] {
		rank = 0
		for i, n := range used {
			shares[i] = 1
			if minimum[i] > 0 {
				shares[i] = float64(n) / float64(minimum[i])
			}
		}
	} else if weight > 0 {
		for i := range shares {
			shares[i] /= weight
		}
	} else {
		rank = 2
	}
	measure.Descend(shares[:])
	if !k.Place(rank, k.Ratio) && shares == *was {
		return false
	}
	*was = shares
	return true
}

// appWeight returns the weight of an application under the FairScheduler.
func (p *Policy) appWeight(a *core.App) float64 {
	if p.s.Tree.Settings.Fair.SizeBasedWeight {
		return measure.SizeWeight(a.Used[records.Memory], a.PendingSum[records.Memory])
	}
	return 1
}
