package divider

import (
	"cmp"
	"math"
	"slices"
)

// tiny is what sums of slots may be off by, as a part of a container.
const tiny = 1e-9

// Round sets how many whole containers jobs get of what Divide has given them: ⌊S_i⌋, and what that leaves over by the largest remainders,
// of equal ones in the order. slots is what was divided.
func (d *Divider) Round(slots float64) {
	left := slots
	for _, i := range d.order {
		j := &d.jobs[i]
		j.Containers = int64(math.Floor(j.Slots/j.Size + tiny))
		left -= float64(j.Containers) * j.Size
	}
	remainder := func(i int32) float64 { // in steps, so that what differs by rounding only is equal
		return math.Round((d.jobs[i].Slots/d.jobs[i].Size - float64(d.jobs[i].Containers)) / tiny)
	}
	d.free = append(d.free[:0], d.order...)
	slices.SortStableFunc(d.free, func(a, b int32) int { return cmp.Compare(remainder(b), remainder(a)) })
	for _, i := range d.free {
		if j := &d.jobs[i]; remainder(i) > 0 && j.Size <= left+tiny*j.Size {
			j.Containers++
			left -= j.Size
		}
	}
}
