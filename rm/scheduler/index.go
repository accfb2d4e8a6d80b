package scheduler

import "heddle/yarn/records"

// index finds nodes with room. It is a tournament tree over the nodes' free resources: every inner place holds the largest
// free amount of each type below it, so that whole subtrees without room are passed over. Finding and changing take
// O(log n) steps (a search more only where the amounts of different types come from different nodes).
type index struct {
	types int     // of resources; the first ones
	size  int     // number of leaves, a power of 2
	tree  []int64 // amounts, by place and type
}

// closed is the free resource of a node that takes nothing, not even an empty ask.
var closed = func() (r records.Resource) {
	for i := range r {
		r[i] = -1
	}
	return r
}()

// set changes the free resource of leaf i, growing the tree as needed.
func (x *index) set(i int, free *records.Resource) {
	if i >= x.size {
		x.grow(i + 1)
	}
	k := x.types
	p := x.size + i
	changed := false
	at := x.tree[p*k : p*k+k]
	for t := range at {
		if at[t] != free[t] {
			at[t], changed = free[t], true
		}
	}
	for p >>= 1; changed && p >= 1; p >>= 1 {
		at := x.tree[p*k : p*k+k]
		below := x.tree[2*p*k : 2*p*k+2*k]
		changed = false
		for t := range at {
			if most := max(below[t], below[t+k]); at[t] != most {
				at[t], changed = most, true
			}
		}
	}
}

// at is the free resource of leaf i.
func (x *index) at(i int) (r records.Resource) {
	copy(r[:], x.tree[(x.size+i)*x.types:][:x.types])
	return r
}

func (x *index) grow(n int) {
	size := max(x.size, 16)
	for size < n {
		size *= 2
	}
	old := *x
	x.size, x.tree = size, make([]int64, 2*size*x.types)
	for i := range x.tree {
		x.tree[i] = -1
	}
	copy(x.tree[size*x.types:], old.tree[old.size*x.types:])
	for p := size - 1; p >= 1; p-- {
		for t := range x.types {
			x.tree[p*x.types+t] = max(x.tree[2*p*x.types+t], x.tree[(2*p+1)*x.types+t])
		}
	}
}

func (x *index) fits(need *records.Resource, p int) bool {
	for t, n := range x.tree[p*x.types : p*x.types+x.types] {
		if need[t&(records.MaxResourceTypes-1)] > n {
			return false
		}
	}
	return true
}

// next returns the first leaf from i on that has room for need, or -1.
func (x *index) next(i int, need *records.Resource) int {
	if i >= x.size || !x.fits(need, 1) {
		return -1
	}
	p := x.size + i
	for {
		if x.fits(need, p) {
			if p >= x.size {
				return p - x.size
			}
			p *= 2
			continue
		}
		for p&1 == 1 {
			if p >>= 1; p <= 1 {
				return -1
			}
		}
		if p == 0 {
			return -1
		}
		p++
	}
}
