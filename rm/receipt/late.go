package receipt

import (
	"slices"

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

// late says why one ran for half as long again as others of its kind, and what would have been usual, in ms; "": it didn't, or there are too few
// others.
func late(one ran, others []ran) (why Kind, usual int64) {
	on := func(x ran) bool { return x.node == one.node }
	here, elsewhere := times(others, on), times(others, func(x ran) bool { return !on(x) })
	here = append(here, one.ms)
	slices.Sort(here)
	if len(here) >= leastOnNode && len(elsewhere) >= leastOnNode {
		if usual = median(elsewhere); beyond(here[(len(here)-1)/2], usual) && beyond(one.ms, usual) { // of two both are slow
			return SlowNode, usual
		}
	}
	if one.far {
		if near := times(others, func(x ran) bool { return !x.far }); len(near) >= leastOthers && beyond(one.ms, median(near)) {
			return RemoteInput, median(near)
		}
	}
	if len(others) >= leastOthers {
		if usual = median(times(others, func(ran) bool { return true })); beyond(one.ms, usual) {
			return Straggling, usual
		}
	}
	return "", 0
}

// beyond reports whether a time is more than half as long again as usual.
func beyond(ms, usual int64) bool { return usual > 0 && ms > usual+usual/2 }

// times returns how long those ran that are wanted, the shortest first.
func times(list []ran, wanted func(ran) bool) (all []int64) {
	for _, x := range list {
		if wanted(x) {
			all = append(all, x.ms)
		}
	}
	slices.Sort(all)
	return all
}

func median(sorted []int64) int64 { return max(sorted[len(sorted)/2], 1) }
