package speedclass

import (
	"cmp"
	"math"
	"slices"
)

// group merges nodes until the groups are in order: of any two one is at least as fast in every dimension (algorithm 5.2.1). Nodes are merged
// if each is better in some dimension (line 8), and a merged group takes in all that its range of times meets in any dimension (line 10).
// Groups come by their first node, and nodes ascend in them.
//
// The algorithm of the paper compares all pairs, again after each merger. But each of its mergers is forced, whatever comes first: its result
// is the finest partition in which no two groups clash and no merged group meets another one. There are two types of tasks. So that partition
// is found by one sweep over the nodes in the order of their times, in O(n log n).
func group(nodes []int, at []Vector) [][]int {
	whole := make([]place, 0, len(nodes)) // nodes that have done tasks of both types; others never clash
	for _, n := range nodes {
		if !math.IsNaN(at[n][0]) && !math.IsNaN(at[n][1]) {
			whole = append(whole, place{n, at[n]})
		}
	}
	slices.SortFunc(whole, byTimes)
	merged := make([]run, 0, len(whole))
	for _, r := range sweep(whole) {
		if len(r.nodes) > 1 {
			merged = append(merged, r)
		}
	}
	of := make([]int, len(at)) // by node: 1 + the index of its run in merged
	for i := range merged {
		for _, p := range merged[i].nodes {
			of[p.node] = i + 1
		}
	}
	for _, n := range nodes {
		if of[n] == 0 {
			of[n] = meets(merged, at[n]) + 1
		}
	}
	return gather(nodes, of, len(merged))
}

// place is where a node is among the others.
type place struct {
	node int
	at   Vector // no NaN
}

// byTimes orders nodes by their maps' times, and by their reduces' where those are equal.
func byTimes(a, b place) int {
	for d := range a.at {
		switch {
		case a.at[d] < b.at[d]:
			return -1
		case a.at[d] > b.at[d]:
			return 1
		}
	}
	return 0
}

// run is nodes that follow each other by their times, with the range of these.
type run struct {
	nodes    []place
	min, max Vector
}

// sweep returns the runs that nodes form which are in the order of their times.
func sweep(whole []place) []run {
	runs := make([]run, 0, len(whole))
	for i, p := range whole {
		last := run{whole[i : i+1], p.at, p.at}
		for len(runs) > 0 && runs[len(runs)-1].joins(&last) {
			before := &runs[len(runs)-1]
			last.nodes = whole[i+1-len(last.nodes)-len(before.nodes) : i+1]
			for d := range last.min {
				last.min[d], last.max[d] = min(last.min[d], before.min[d]), max(last.max[d], before.max[d])
			}
			runs = runs[:len(runs)-1]
		}
		runs = append(runs, last)
	}
	return runs
}

// joins reports whether the run that follows is merged with this one: if a node of this one takes longer for reduces, which makes up for its
// faster maps; or if one of the two is merged already and their ranges meet.
func (r *run) joins(next *run) bool {
	if r.max[1] > next.min[1] {
		return true // for equal times of maps nodes are in the order of their reduces: the maps' times differ
	}
	return len(r.nodes)+len(next.nodes) > 2 && (r.max[0] == next.min[0] || r.max[1] == next.min[1])
}

// meets returns the merged run in whose range a vector is in any dimension; -1 if there is none. The ranges are apart, and ascend in both
// dimensions.
func meets(merged []run, v Vector) int {
	for d, x := range v {
		i, _ := slices.BinarySearchFunc(merged, x, func(r run, x float64) int { return cmp.Compare(r.max[d], x) })
		if i < len(merged) && merged[i].min[d] <= x { // false if it is NaN
			return i
		}
	}
	return -1
}

// gather lists nodes by their merged run. Those that have none are groups of their own.
func gather(nodes, of []int, merged int) [][]int {
	sizes, places := make([]int, merged+1), make([]int, merged+1)
	for _, n := range nodes {
		sizes[of[n]]++
	}
	groups, all := make([][]int, 0, merged+sizes[0]), make([]int, len(nodes))
	for _, n := range nodes {
		r := of[n]
		if r > 0 && places[r] > 0 {
			g := &groups[places[r]-1]
			*g = append(*g, n)
			continue
		}
		size := 1
		if r > 0 {
			size = sizes[r]
		}
		groups = append(groups, append(all[:0:size], n))
		all = all[size:]
		places[r] = len(groups)
	}
	return groups
}
