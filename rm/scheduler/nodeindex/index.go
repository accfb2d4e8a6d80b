package nodeindex

import (
	"heddle/internal/prefetch"
	"heddle/yarn/records"
)

// Index finds nodes with room. It is a tournament over the nodes' free resources: each place of a layer holds the largest
// free amounts of the 8 places below it, so that whole subtrees without room are passed over. Finding and changing take
// O(log n) steps (a search more only where the amounts of different types come from different nodes).
//
// Eight siblings' amounts fill few lines of the processor's cache, and a place's own mostly one. With two siblings, what is read on the
// way was a multiple of it, and the most of what a decision costs on 10,000 nodes is to wait for memory.
type Index struct {
	types  int              // of resources; the first ones
	size   int              // places for nodes
	layers [][]int64        // from the nodes upwards: the amounts of each place, type by type; siblings stand together
	most   records.Resource // the largest of all

	// The node that was set last, of which layers and most may tell what it had before. Mostly something ends on a node and the
	// same room is given away at once, so that nothing is to be entered.
	last int // -1 before the first
	free records.Resource
}

// New returns an empty index of amounts that have so many types.
func New(types int) Index { return Index{types: types, last: -1} }

// siblings is how many places there are in a group, and fanOut its logarithm.
const (
	fanOut   = 3
	siblings = 1 << fanOut
)

// amounts returns those of a place.
func (x *Index) amounts(l, place int) []int64 {
	at := place * x.types
	return x.layers[l][at : at+x.types : at+x.types]
}

// Closed is the free resource of a node that takes nothing, not even an empty ask.
var Closed = func() (r records.Resource) {
	for i := range r {
		r[i] = -1
	}
	return r
}()

// Set changes the free resource of node i, growing the index as needed.
func (x *Index) Set(i int, free *records.Resource) {
	if i != x.last {
		x.enter()
		x.last = i
	}
	for t := range x.types {
		x.free[t] = free[t]
	}
	if i >= x.size {
		x.grow(i + 1)
	}
}

// enter enters the node that was set last into the layers.
func (x *Index) enter() {
	i, most := x.last, x.free
	if i < 0 {
		return
	}
	for l := range x.layers {
		changed := false
		at, up := x.amounts(l, i), x.above(l, i)
		for t, was := range at {
			if was != most[t] {
				at[t], changed = most[t], true
			}
			switch {
			case most[t] >= up[t]:
			case was < up[t]:
				most[t] = up[t] // that of a sibling
			default:
				most[t] = x.largest(l, i, t)
			}
		}
		if !changed {
			return
		}
		i >>= fanOut
	}
	x.most = most
}

// above returns where the largest amounts of the siblings of a place are noted.
func (x *Index) above(l, i int) []int64 {
	if l++; l == len(x.layers) {
		return x.most[:]
	}
	return x.amounts(l, i>>fanOut)
}

// largest returns the largest amount of a type among the siblings of a place.
func (x *Index) largest(l, i, t int) int64 {
	group := x.layers[l][i&^(siblings-1)*x.types+t:]
	most := group[0]
	for c := 1; c < siblings; c++ {
		most = max(most, group[c*x.types])
	}
	return most
}

// At returns the free resource of node i.
func (x *Index) At(i int) (r records.Resource) {
	if i == x.last {
		return x.free
	}
	copy(r[:], x.amounts(0, i))
	return r
}

// Fetch has memory come of node i, which will be set soon: what the layers above have is read more often, and is there.
func (x *Index) Fetch(i int) {
	if i < x.size {
		prefetch.Of(&x.layers[0][i*x.types])
	}
}

func (x *Index) grow(n int) {
	old, before := *x, x.size
	x.layers, x.most = nil, Closed
	for size := max(n, 2*before); ; size = (size + siblings - 1) / siblings {
		groups := (size + siblings - 1) / siblings
		layer := make([]int64, groups*siblings*x.types)
		for i := range layer {
			layer[i] = -1
		}
		x.layers = append(x.layers, layer)
		if groups == 1 {
			break
		}
	}
	x.size = len(x.layers[0]) / x.types
	for i := range before {
		x.last, x.free = i, old.At(i)
		x.enter()
	}
	x.last, x.free = old.last, old.free
}

// Next returns the first node from i on that has room for need, or -1.
func (x *Index) Next(i int, need *records.Resource) int {
	at := x.entered(i, need)
	if at == x.last && at >= 0 {
		at = x.entered(at+1, need)
	}
	if i <= x.last && (at < 0 || x.last < at) && x.fits(need, &x.free) {
		return x.last
	}
	return at
}

// Has reports whether some node has room for need.
func (x *Index) Has(need *records.Resource) bool {
	return x.last >= 0 && x.fits(need, &x.free) || x.Next(0, need) >= 0
}

// fits reports whether one amount is at most another.
func (x *Index) fits(need, in *records.Resource) bool {
	for t := range x.types {
		if need[t] > in[t] {
			return false
		}
	}
	return true
}

// entered is next by what is entered in the layers. It begins at the top, where few lines tell of all nodes, so that of the nodes only
// those are looked at that may have room.
func (x *Index) entered(i int, need *records.Resource) int {
	if i >= x.size || !x.fits(need, &x.most) {
		return -1
	}
	l := len(x.layers) - 1
	for place := i >> (fanOut * l); ; {
		at := x.inGroup(l, place, need)
		switch {
		case at >= 0 && l == 0:
			return at
		case at >= 0:
			l--
			place = max(at<<fanOut, i>>(fanOut*l))
			continue
		}
		// Continue behind the group. Where another one begins there, ask the one above that first.
		for l, place = l+1, place>>fanOut+1; place%siblings == 0; l++ {
			place >>= fanOut
		}
		if l >= len(x.layers) {
			return -1
		}
	}
}

// inGroup returns the first place of a layer, from i to the end of its group, that has room for need, or -1.
func (x *Index) inGroup(l, i int, need *records.Resource) int {
	layer, end := x.layers[l], i|(siblings-1)
search:
	for ; i <= end; i++ {
		for t, free := range layer[i*x.types : (i+1)*x.types] {
			if need[t] > free {
				continue search
			}
		}
		return i
	}
	return -1
}
