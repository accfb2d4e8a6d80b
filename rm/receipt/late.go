package receipt

import (
	"slices"
	"sort"

	"heddle/yarn/records"
)

// ran is how long a container or a task ran without being suspended, in ms.
type ran struct {
	node records.NodeID
	far  bool // from its input
	ms   int64
}

// Numbers of others without which nothing can be said.
const (
	leastOthers = 3 // in all
	leastOnNode = 2 // on a node, with the one in question, and elsewhere
)

// kin are how long all of a kind ran, sorted once for all that are compared with them.
type kin struct {
	all, near []int64 // near: those that had their input on their hosts
	on        map[records.NodeID][]int64
}

func kinOf(list []ran) *kin {
	k := &kin{on: map[records.NodeID][]int64{}}
	for _, x := range list {
		k.all = append(k.all, x.ms)
		k.on[x.node] = append(k.on[x.node], x.ms)
		if !x.far {
			k.near = append(k.near, x.ms)
		}
	}
	slices.Sort(k.all)
	slices.Sort(k.near)
	for _, times := range k.on {
		slices.Sort(times)
	}
	return k
}

// late says why one ran for half as long again as others of its kind, and what would have been usual, in ms; "": it didn't, or there are too few
// others. among says that it is one of the kin itself.
func (k *kin) late(one ran, among bool) (why Kind, usual int64) {
	others, here := k.on[one.node], k.on[one.node]
	if !among {
		i, _ := slices.BinarySearch(here, one.ms)
		here = slices.Insert(slices.Clone(here), i, one.ms)
	}
	if elsewhere := len(k.all) - len(others); len(here) >= leastOnNode && elsewhere >= leastOnNode {
		usual = max(without(k.all, elsewhere/2, others), 1)
		if beyond(here[(len(here)-1)/2], usual) && beyond(one.ms, usual) { // of two both are slow
			return SlowNode, usual
		}
	}
	if one.far && len(k.near) >= leastOthers {
		if usual = median(k.near); beyond(one.ms, usual) {
			return RemoteInput, usual
		}
	}
	var itself []int64
	if among {
		itself = []int64{one.ms}
	}
	if n := len(k.all) - len(itself); n >= leastOthers {
		if usual = max(without(k.all, n/2, itself), 1); beyond(one.ms, usual) {
			return Straggling, usual
		}
	}
	return "", 0
}

// beyond reports whether a time is more than half as long again as usual.
func beyond(ms, usual int64) bool { return usual > 0 && ms > usual+usual/2 }

func median(sorted []int64) int64 { return max(sorted[len(sorted)/2], 1) }

// without returns the n-th, from 0, of sorted times without some of them, which are sorted, too.
func without(sorted []int64, n int, some []int64) int64 {
	return sorted[sort.Search(len(sorted)-1, func(i int) bool { return upTo(sorted, sorted[i])-upTo(some, sorted[i]) > n })]
}

// upTo counts the times that are at most so long.
func upTo(sorted []int64, ms int64) int {
	return sort.Search(len(sorted), func(i int) bool { return sorted[i] > ms })
}
