package scheduler

import "heddle/yarn/records"

// index finds nodes with room. It is a tournament tree over the nodes' free resources: every inner place holds the largest
// free amount of each type below it, so that whole subtrees without room are passed over. Finding and changing take
// O(log n) steps (a search more only where the amounts of different types come from different nodes).
type index struct {
	size int // number of leaves, a power of 2
	tree []records.Resource
}

// closed is the free resource of a node that takes nothing, not even an empty ask.
var closed = func() (r records.Resource) {
	for i := range r {
		r[i] = -1
	}
	return r
}()

// at is the free resource of leaf i.
func (x *index) at(i int) records.Resource {
	if i >= x.size {
		return closed
	}
	return x.tree[x.size+i]
}

// set changes the free resource of leaf i, growing the tree as needed.
func (x *index) set(i int, free records.Resource) {
	if i >= x.size {
		x.grow(i + 1)
	}
	p := x.size + i
	if x.tree[p] == free {
		return
	}
	x.tree[p] = free
	for p >>= 1; p >= 1; p >>= 1 {
		most := x.tree[2*p].Max(x.tree[2*p+1])
		if most == x.tree[p] {
			return
		}
		x.tree[p] = most
	}
}

func (x *index) grow(n int) {
	size := max(x.size, 16)
	for size < n {
		size *= 2
	}
	tree := make([]records.Resource, 2*size)
	for i := range tree {
		tree[i] = closed
	}
	copy(tree[size:], x.tree[x.size:])
	for p := size - 1; p >= 1; p-- {
		tree[p] = tree[2*p].Max(tree[2*p+1])
	}
	x.size, x.tree = size, tree
}

// next returns the first leaf from i on that has room for need, or -1.
func (x *index) next(i int, need records.Resource) int {
	if i >= x.size {
		return -1
	}
	p := x.size + i
	for {
		if need.FitsIn(x.tree[p]) {
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
