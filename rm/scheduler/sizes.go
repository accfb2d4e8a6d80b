package scheduler

import "heddle/yarn/records"

// sizes are the distinct amounts that containers hold, so that a container, of which there are the most, is but a few numbers.
type sizes struct {
	of    map[records.Resource]int32
	at    []size
	free  []int32
	found int32 // what was held last
}

type size struct {
	amount     records.Resource
	containers int64 // that hold it
}

// hold returns the number of an amount, and counts one more container of it.
func (z *sizes) hold(amount *records.Resource) int32 {
	i := z.found
	if int(i) >= len(z.at) || z.at[i].containers == 0 || z.at[i].amount != *amount {
		var ok bool
		if i, ok = z.of[*amount]; !ok {
			i = take(&z.at, &z.free)
			z.at[i] = size{amount: *amount}
			z.of[*amount] = i
		}
		z.found = i
	}
	z.at[i].containers++
	return i
}

// drop counts one container less of an amount.
func (z *sizes) drop(i int32) {
	if z.at[i].containers--; z.at[i].containers == 0 {
		delete(z.of, z.at[i].amount)
		z.free = append(z.free, i)
	}
}
