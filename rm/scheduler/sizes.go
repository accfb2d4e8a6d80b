package scheduler

import "heddle/yarn/records"

// sizes are the distinct amounts that containers hold, so that a container, of which there are the most, is but a few numbers.
type sizes struct {
	of   map[records.Resource]int32
	at   []size
	free []int32
}

type size struct {
	amount     records.Resource
	containers int64 // that hold it
}

// hold returns the number of an amount, and counts one more container of it.
func (z *sizes) hold(amount *records.Resource) int32 {
	i, ok := z.among(amount)
	if !ok {
		if i, ok = z.of[*amount]; !ok {
			i = take(&z.at, &z.free)
			z.at[i] = size{amount: *amount}
			z.of[*amount] = i
		}
	}
	z.at[i].containers++
	return i
}

// among looks for an amount among the first few, which mostly are all that there are.
func (z *sizes) among(amount *records.Resource) (int32, bool) {
	for i := range min(len(z.at), 8) {
		if x := &z.at[i]; x.amount[records.Memory] == amount[records.Memory] && x.containers > 0 && x.amount == *amount {
			return int32(i), true
		}
	}
	return 0, false
}

// drop counts one container less of an amount.
func (z *sizes) drop(i int32) {
	if z.at[i].containers--; z.at[i].containers == 0 {
		delete(z.of, z.at[i].amount)
		z.free = append(z.free, i)
	}
}
