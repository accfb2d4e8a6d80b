package speedclass

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// box is a group of nodes with the range of their times, as algorithm 5.2.1 has it in lines 3 to 6.
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

// printed is algorithm 5.2.1 to the letter: it compares all pairs, and again after each merger.
func printed(nodes []int, at []Vector) [][]int {
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
	out := make([][]int, len(groups))
	for i := range groups {
		out[i] = groups[i].nodes
		slices.Sort(out[i])
	}
	slices.SortFunc(out, func(a, b []int) int { return cmp.Compare(a[0], b[0]) })
	return out
}

// The groups are those that algorithm 5.2.1 ends with as it is printed, whatever nodes there are: many that are alike, or none; of kinds that
// differ more than the nodes of a kind; and some that have run one type of tasks only, or nothing.
func TestGroupsAreThoseOfThePaper(t *testing.T) {
	several := 0
	rapid.Check(t, func(t *rapid.T) {
		noise := rapid.SampledFrom([]float64{0, 0.01, 0.2, 3}).Draw(t, "noise")
		steps := rapid.SampledFrom([]int{0, 1, 4}).Draw(t, "steps")
		unknown := rapid.SampledFrom([]int{0, 1, 5}).Draw(t, "unknown of 10")
		at := make([]Vector, rapid.IntRange(0, 40).Draw(t, "nodes"))
		var nodes []int
		for i := range at {
			kind := float64(rapid.IntRange(1, 8).Draw(t, "kind"))
			for d := range at[i] {
				part := rapid.Float64Range(0, 1).Draw(t, "part")
				if steps > 0 {
					part = math.Round(part*float64(steps)) / float64(steps)
				}
				at[i][d] = kind + noise*part
				if rapid.IntRange(0, 9).Draw(t, "which is unknown") < unknown {
					at[i][d] = none
				}
			}
			if rapid.IntRange(0, 9).Draw(t, "listed") > 0 {
				nodes = append(nodes, i)
			}
		}
		got, want := group(nodes, at), printed(nodes, at)
		if !slices.EqualFunc(got, want, slices.Equal[[]int]) {
			t.Fatalf("%v of %v: %v instead of %v", nodes, at, got, want)
		}
		if len(got) < len(nodes) && len(got) > 1 {
			several++
		}
	})
	if several == 0 {
		t.Error("no case had mergers and more than one group left")
	}
}

// BenchmarkCluster sorts 10,000 nodes of eight kinds into classes: with times that differ by a hundredth in a kind, and of any length.
func BenchmarkCluster(b *testing.B) {
	for _, c := range []struct {
		name   string
		spread int
	}{{"kinds", 7}, {"any", 7919}} {
		at := make([]Vector, 10_000)
		for i := range at {
			for d := range at[i] {
				at[i][d] = float64(20*(1+i%8)) + float64((i*(31+d*17)+i/3)%c.spread)/35
			}
		}
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				Cluster(at, Most)
			}
		})
	}
}
