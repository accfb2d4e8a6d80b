// Package speedclass sorts nodes into speed classes (Wang et al., eSplash, section 5.2.1, calls them levels), for ApplicationMasters that speculate
// (am/speculate) and for the ResourceManager, which has the reports of all of them (rm/leader/speed).
package speedclass

import (
	"cmp"
	"math"
	"slices"
)

// Types is how many types of tasks there are: maps and reduces.
const Types = 2

// Vector is a node's performance: its mean execution time by task type, in any unit; NaN where it has finished none.
type Vector [Types]float64

// Bounds of classes.
const (
	Most     = 4    // in the paper's experiments
	distinct = 1.25 // a class's nodes take so many times as long as those of the next one, at least
	rounds   = 50   // of k-means, if it doesn't settle
)

// Cluster gives each node that has finished something a class from 1 to k at most; higher ones are faster (algorithm 5.2.2). Others get 0.
func Cluster(at []Vector, k int) (classes []int, highest int) {
	classes = make([]int, len(at))
	norm, nodes := normalized(at)
	if len(nodes) == 0 {
		return classes, 0
	}
	groups := group(nodes, norm)
	k = max(1, min(k, len(groups)))
	centres := spread(nodes, norm, k)
	of := make([]int, len(groups))
	votes := make([]int, k)
	for range rounds {
		moved := false
		for i := range groups {
			clear(votes)
			for _, n := range groups[i] {
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
	class := make([]int, k)
	for i, c := range used {
		if i == 0 || pace(centres[used[i-1]]) >= distinct*pace(centres[c]) {
			highest++
		}
		class[c] = highest
	}
	for i := range groups {
		for _, n := range groups[i] {
			classes[n] = class[of[i]]
		}
	}
	return classes, highest
}

// spread returns the vectors of k nodes as the first centres: by how fast the nodes are they stand in the middle of k equal parts, the
// slowest first.
func spread(nodes []int, norm []Vector, k int) []Vector {
	type rank struct {
		node int
		pace float64
	}
	order := make([]rank, len(nodes))
	for i, n := range nodes {
		order[i] = rank{n, pace(norm[n])}
	}
	slices.SortFunc(order, func(a, b rank) int {
		if a.pace == b.pace {
			return a.node - b.node
		}
		return cmp.Compare(b.pace, a.pace) // NaN, of which there are no times at all, is the last
	})
	centres := make([]Vector, k)
	for c := range centres {
		centres[c] = norm[order[(2*c+1)*len(order)/(2*k)].node]
	}
	return centres
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

// pace returns the mean of a vector's dimensions.
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

// mean returns the centre of the nodes of a cluster's groups.
func mean(groups [][]int, of []int, c int, norm []Vector) (Vector, bool) {
	var sum, n Vector
	found := false
	for i := range groups {
		if of[i] != c {
			continue
		}
		for _, node := range groups[i] {
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
