package scheduler

import "heddle/yarn/records"

// sizes are the distinct amounts that containers hold, or nodes have. There are many of both, which so are but a few numbers each.
type sizes struct {
	of   map[records.Resource]int32
	at   []size
	free []int32
}

type size struct {
	amount records.Resource
	held   int64 // by how many
}

func newSizes() sizes { return sizes{of: map[records.Resource]int32{}} }

// hold returns the number of an amount, and counts one more that holds it.
func (z *sizes) hold(amount *records.Resource) int32 {
	i, ok := z.among(amount)
	if !ok {
		if i, ok = z.of[*amount]; !ok {
			i = take(&z.at, &z.free)
			z.at[i] = size{amount: *amount}
			z.of[*amount] = i
		}
	}
	z.at[i].held++
	return i
}

// among looks for an amount among the first few, which mostly are all that there are.
func (z *sizes) among(amount *records.Resource) (int32, bool) {
	for i := range min(len(z.at), 8) {
		if x := &z.at[i]; x.amount[records.Memory] == amount[records.Memory] && x.held > 0 && x.amount == *amount {
			return int32(i), true
		}
	}
	return 0, false
}

// drop counts one less that holds an amount.
func (z *sizes) drop(i int32) {
	if z.at[i].held--; z.at[i].held == 0 {
		delete(z.of, z.at[i].amount)
		z.free = append(z.free, i)
	}
}
