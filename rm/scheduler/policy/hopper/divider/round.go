package divider

import (
	"math"
	"slices"
)

// tiny is what sums of slots may be off by, as a part of a container.
const tiny = 1e-9

// Round sets how many whole containers jobs get of what Divide has given them: ⌊S_i⌋, and what that leaves over by the largest remainders,
// of equal ones in the order. slots is what was divided.
func (d *Divider) Round(slots float64) {
	left := slots
	d.places = d.places[:0]
	for k, i := range d.order {
		j := &d.jobs[i]
		whole := j.Slots / j.Size
		j.Containers = int64(math.Floor(whole + tiny))
		left -= float64(j.Containers) * j.Size
		if remainder := math.Round((whole - float64(j.Containers)) / tiny); remainder > 0 { // in steps, so that what differs by rounding only is equal
			d.places = append(d.places, place{first: -remainder, at: int32(k)})
		}
	}
	slices.SortFunc(d.places, place.before)
	for i := range d.places {
		if j := &d.jobs[d.order[d.places[i].at]]; j.Size <= left+tiny*j.Size {
			j.Containers++
			left -= j.Size
		}
	}
}
