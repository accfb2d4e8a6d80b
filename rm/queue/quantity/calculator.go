package quantity

import (
	"math"

	"heddle/yarn/records"
)

// Calculator multiplies amounts as YARN's resource calculators do.
type Calculator struct {
	Dominant bool // all resources are measured (DominantResourceCalculator), not memory alone
}

// TimesUp multiplies an amount with a factor and rounds it up to steps, as YARN's resource calculators do
// (Hadoop: multiplyAndNormalizeUp). Steps of 0 don't round. Where memory alone is measured, any memory comes with one
// vcore and nothing else.
func (c Calculator) TimesUp(r records.Resource, factor float64, step records.Resource) (out records.Resource) {
	if !c.Dominant {
		return memoryAlone(up(records.Whole(float64(r[records.Memory])*factor+0.5), step[records.Memory]))
	}
	for i, n := range r {
		// 32 bits, as in Hadoop: with more, the error of a factor such as 0.1 adds a step
		out[i] = up(records.Whole(math.Ceil(float64(float32(float64(n)*factor)))), step[i])
	}
	return out
}

// TimesDown is TimesUp, rounded down (Hadoop: multiplyAndNormalizeDown).
func (c Calculator) TimesDown(r records.Resource, factor float64, step records.Resource) (out records.Resource) {
	if !c.Dominant {
		return memoryAlone(down(records.Whole(float64(r[records.Memory])*factor), step[records.Memory]))
	}
	for i, n := range r {
		out[i] = down(records.Whole(float64(n)*factor), step[i])
	}
	return out
}

func memoryAlone(mb int64) (out records.Resource) {
	if mb > 0 {
		out[records.Memory], out[records.VCores] = mb, 1
	}
	return out
}

func up(n, step int64) int64 {
	if step <= 1 {
		return n
	}
	return (min(n, math.MaxInt64-step) + step - 1) / step * step
}

func down(n, step int64) int64 {
	if step <= 1 {
		return n
	}
	return n / step * step
}
