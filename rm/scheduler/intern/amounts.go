package intern

import (
	"heddle/rm/scheduler/handle"
	"heddle/yarn/records"
)

// Amounts are resources by dense numbers. Each is counted, and forgotten when nothing holds it any more.
type Amounts struct {
	of   map[records.Resource]int32
	at   []size
	free []int32
}

type size struct {
	amount records.Resource
	held   int64 // by how many
}

// NewAmounts returns an empty set of amounts.
func NewAmounts() Amounts { return Amounts{of: map[records.Resource]int32{}} }

// Hold returns the number of an amount, and counts one more that holds it.
func (z *Amounts) Hold(amount *records.Resource) int32 {
	i, ok := z.among(amount)
	if !ok {
		if i, ok = z.of[*amount]; !ok {
			i = handle.Take(&z.at, &z.free)
			z.at[i] = size{amount: *amount}
			z.of[*amount] = i
		}
	}
	z.at[i].held++
	return i
}

// among looks for an amount among the first few, which mostly are all that there are.
func (z *Amounts) among(amount *records.Resource) (int32, bool) {
	for i := range min(len(z.at), 8) {
		if x := &z.at[i]; x.amount[records.Memory] == amount[records.Memory] && x.held > 0 && x.amount == *amount {
			return int32(i), true
		}
	}
	return 0, false
}

// Amount returns the amount of a number.
func (z *Amounts) Amount(i int32) *records.Resource { return &z.at[i].amount }

// Drop counts one less that holds an amount.
func (z *Amounts) Drop(i int32) {
	if z.at[i].held--; z.at[i].held == 0 {
		delete(z.of, z.at[i].amount)
		z.free = append(z.free, i)
	}
}
