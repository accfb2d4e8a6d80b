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
	d.over = d.over[:0]
	had, size, containers, remainder := math.NaN(), 0., int64(0), 0. // of the job before, which often has as much: at the floor
	for k, i := range d.ranking {
		j := &d.jobs[i]
		if j.Slots != had || j.Size != size {
			had, size = j.Slots, j.Size
			whole := had / size
			containers = int64(math.Floor(whole + tiny))
			remainder = math.Round((whole - float64(containers)) / tiny) // in steps, so that what differs by rounding only is equal
		}
		j.Containers = containers
		left -= float64(containers) * size
		if remainder > 0 {
			d.over = append(d.over, remainderOf(remainder, k))
		}
	}
	d.largest(left)
	for _, r := range d.over {
		if j := &d.jobs[d.ranking[r.place()]]; j.Size <= left+tiny*j.Size {
			j.Containers++
			left -= j.Size
		}
	}
}

// remainder is one with the place of its job in the order, as a number: the largest ones come first, of equal ones the first ones in the order.
type remainder uint64

func remainderOf(steps float64, place int) remainder {
	return (1<<32-remainder(steps))<<32 | remainder(place)
}

func (r remainder) place() int { return int(r & (1<<32 - 1)) }

// largest sorts remainders, or leaves only those that get another container of what is left: if all containers have one size it is known how many.
func (d *Divider) largest(left float64) {
	if len(d.over) == 0 {
		return
	}
	size := d.size
	if size == 0 {
		slices.Sort(d.over)
		return
	}
	n := 0
	for ; n < len(d.over) && size <= left+tiny*size; n++ {
		left -= size
	}
	first(d.over, n)
	d.over = d.over[:n]
}

// first puts the first n in front, in any order (quickselect).
func first(all []remainder, n int) {
	for from, to := 0, len(all); n > from && n < to; {
		middle := all[from+(to-from)/2]
		i, k := from, to-1
		for i <= k {
			for all[i] < middle {
				i++
			}
			for all[k] > middle {
				k--
			}
			if i <= k {
				all[i], all[k] = all[k], all[i]
				i++
				k--
			}
		}
		switch { // from to k are before or the middle one, i on are after or the middle one
		case n <= k:
			to = k + 1
		case n > i:
			from = i
		default:
			return
		}
	}
}
