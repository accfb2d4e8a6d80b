// Package nodelevel sorts nodes into levels of speed (Wang et al., eSplash, section 5.2.1), for ApplicationMasters that speculate
// (am/speculate) and for the ResourceManager, which knows what all of them have learned (rm/leader/speed).
package nodelevel

import (
	"cmp"
	"math"
	"slices"
)

// Types is how many types of tasks there are: maps and reduces.
const Types = 2

// Vector is a node's performance: its mean execution time by task type, in any unit; NaN where it has finished none.
type Vector [Types]float64

// box is a group of nodes with the range of their times (algorithm 5.2.1, lines 3 to 6).
type box struct {
	nodes    []int
	min, max Vector
}

// clash reports whether two groups are each better in some dimension: neither dominates the other (line 8).
func (g *box) clash(o *box) bool {
	worse, better := false, false
	for d := range g.min {
		worse = worse || g.min[d] > o.max[d] // false if either is NaN
		better = better || o.min[d] > g.max[d]
	}
	return worse && better
}

// overlaps reports whether the ranges of two groups meet in any dimension (line 10).
func (g *box) overlaps(o *box) bool {
	for d := range g.min {
		if g.min[d] <= o.max[d] && o.min[d] <= g.max[d] {
			return true
		}
	}
	return false
}

func (g *box) absorb(o *box) {
	g.nodes = append(g.nodes, o.nodes...)
	for d := range g.min {
		g.min[d], g.max[d] = least(g.min[d], o.min[d]), -least(-g.max[d], -o.max[d])
	}
}

// least is the smaller number; NaN only if both are.
func least(a, b float64) float64 {
	if math.IsNaN(a) || b < a {
		return b
	}
	return a
}

// group merges nodes until the groups are in order: of any two one is at least as fast in every dimension (algorithm 5.2.1).
func group(nodes []int, at []Vector) []box {
	groups := make([]box, len(nodes))
	for i, n := range nodes {
		groups[i] = box{[]int{n}, at[n], at[n]}
	}
	for i := 0; i < len(groups); i++ {
		for j := i + 1; j < len(groups); j++ {
			if !groups[i].clash(&groups[j]) {
				continue
			}
			groups[i].absorb(&groups[j])
			groups = slices.Delete(groups, j, j+1)
			for k := 0; k < len(groups); k++ {
				if k != i && groups[i].overlaps(&groups[k]) {
					groups[i].absorb(&groups[k])
					groups = slices.Delete(groups, k, k+1)
					if k < i {
						i--
					}
					k = -1 // the group has grown
				}
			}
			i, j = -1, len(groups) // from the beginning
		}
	}
	return groups
}

// Bounds of levels.
const (
	Most     = 4    // in the paper's experiments
	distinct = 1.25 // a level's nodes take so many times as long as those of the next one, at least
	rounds   = 50   // of k-means, if it doesn't settle
)

// Cluster gives each node that has finished something a level from 1 to k at most; higher ones are faster (algorithm 5.2.2). Others get 0.
func Cluster(at []Vector, k int) (levels []int, highest int) {
	levels = make([]int, len(at))
	norm, nodes := normalized(at)
	if len(nodes) == 0 {
		return levels, 0
	}
	groups := group(nodes, norm)
	slices.SortStableFunc(nodes, func(a, b int) int { return cmp.Compare(pace(norm[b]), pace(norm[a])) }) // the slowest first
	k = max(1, min(k, len(groups)))
	centres := make([]Vector, k)
	for c := range centres {
		centres[c] = norm[nodes[(2*c+1)*len(nodes)/(2*k)]]
	}
	of := make([]int, len(groups))
	for range rounds {
		moved := false
		for i := range groups {
			votes := make([]int, k)
			for _, n := range groups[i].nodes {
				votes[nearest(norm[n], centres)]++
			}
			if c := slices.Index(votes, slices.Max(votes)); c != of[i] {
				of[i], moved = c, true
			}
		}
		for c := range centres {
			if v, ok := mean(groups, of, c, norm); ok {
				centres[c] = v
			}
		}
		if !moved {
			break
		}
	}
	used := make([]int, 0, k)
	for c := range centres {
		if slices.Contains(of, c) {
			used = append(used, c)
		}
	}
	slices.SortStableFunc(used, func(a, b int) int { return cmp.Compare(pace(centres[b]), pace(centres[a])) })
	level := make([]int, k)
	for i, c := range used {
		if i == 0 || pace(centres[used[i-1]]) >= distinct*pace(centres[c]) {
			highest++
		}
		level[c] = highest
	}
	for i := range groups {
		for _, n := range groups[i].nodes {
			levels[n] = level[of[i]]
		}
	}
	return levels, highest
}

// normalized divides times by the mean of their type, so that types weigh the same, and lists nodes that have any.
func normalized(at []Vector) (norm []Vector, nodes []int) {
	var sum, n Vector
	for _, v := range at {
		for d, x := range v {
			if !math.IsNaN(x) {
				sum[d], n[d] = sum[d]+x, n[d]+1
			}
		}
	}
	norm = make([]Vector, len(at))
	for i, v := range at {
		known := false
		for d, x := range v {
			norm[i][d] = math.NaN()
			if !math.IsNaN(x) {
				known = true
				norm[i][d] = 1
				if sum[d] > 0 {
					norm[i][d] = x / (sum[d] / n[d])
				}
			}
		}
		if known {
			nodes = append(nodes, i)
		}
	}
	return norm, nodes
}

// pace is the mean of a vector's dimensions.
func pace(v Vector) float64 {
	sum, n := 0.0, 0.0
	for _, x := range v {
		if !math.IsNaN(x) {
			sum, n = sum+x, n+1
		}
	}
	return sum / n
}

// nearest returns the centre that is nearest in the dimensions that both have.
func nearest(v Vector, centres []Vector) int {
	best, at := math.Inf(1), 0
	for c := range centres {
		sum, n := 0.0, 0.0
		for d := range v {
			if x := v[d] - centres[c][d]; !math.IsNaN(x) {
				sum, n = sum+x*x, n+1
			}
		}
		if n > 0 && sum/n < best {
			best, at = sum/n, c
		}
	}
	return at
}

// mean is the centre of the nodes of a cluster's groups.
func mean(groups []box, of []int, c int, norm []Vector) (Vector, bool) {
	var sum, n Vector
	found := false
	for i := range groups {
		if of[i] != c {
			continue
		}
		for _, node := range groups[i].nodes {
			found = true
			for d, x := range norm[node] {
				if !math.IsNaN(x) {
					sum[d], n[d] = sum[d]+x, n[d]+1
				}
			}
		}
	}
	for d := range sum {
		sum[d] /= n[d] // NaN if there are none
	}
	return sum, found
}
