package speedclass

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var none = math.NaN()

// Algorithm 5.2.1: nodes are merged unless one is at least as fast in every dimension, and what meets the merged ones as well.
func TestGroupingOfAlgorithm521(t *testing.T) {
	for name, c := range map[string]struct {
		at   []Vector
		want [][]int
	}{
		"one dominates":                   {[]Vector{{1, 1}, {2, 2}}, [][]int{{0}, {1}}},
		"each is better once":             {[]Vector{{1, 2}, {2, 1}}, [][]int{{0, 1}}},
		"equal in one":                    {[]Vector{{1, 1}, {1, 2}}, [][]int{{0}, {1}}},
		"another one is between":          {[]Vector{{1, 4}, {4, 1}, {2, 2}, {9, 9}}, [][]int{{0, 1, 2}, {3}}},
		"one meets in one dimension only": {[]Vector{{1, 4}, {4, 1}, {3, 5}, {9, 9}}, [][]int{{0, 1, 2}, {3}}},
		"what grows meets more":           {[]Vector{{1, 4}, {4, 1}, {3, 7}, {8, 6}, {9, 9}}, [][]int{{0, 1, 2, 3}, {4}}},
		"one touches the edge":            {[]Vector{{1, 4}, {4, 1}, {4, 9}, {10, 10}}, [][]int{{0, 1, 2}, {3}}},
		"what touches it touches more":    {[]Vector{{1, 4}, {4, 1}, {4, 9}, {5, 9}, {10, 10}}, [][]int{{0, 1, 2, 3}, {4}}},
		"one type only":                   {[]Vector{{1, none}, {2, none}, {3, none}}, [][]int{{0}, {1}, {2}}},
	} {
		nodes := make([]int, len(c.at))
		for i := range nodes {
			nodes[i] = i
		}
		got := group(nodes, c.at)
		if !slices.EqualFunc(got, c.want, slices.Equal[[]int]) {
			t.Errorf("%s: %v instead of %v", name, got, c.want)
		}
	}
}

// Figure 5.2: 80 nodes of four kinds, with the times of two types of tasks, end on four classes.
func TestLevelsOfFigure52(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 2))
	at := make([]Vector, 80)
	for i := range at {
		for d, base := range []float64{20, 50} {
			at[i][d] = base * []float64{8, 4, 2, 1}[i%4] * (0.9 + 0.2*r.Float64())
		}
	}
	classes, highest := Cluster(at, Most)
	if highest != 4 {
		t.Fatalf("%d levels", highest)
	}
	for i, l := range classes {
		if l != 1+i%4 {
			t.Errorf("a node of kind %d is on level %d", i%4, l)
		}
	}
}

func TestEqualNodesAreOnOneLevel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	at := make([]Vector, 40)
	for i := range at {
		at[i] = Vector{20 * (0.9 + 0.2*r.Float64()), 50 * (0.9 + 0.2*r.Float64())}
	}
	at[3] = Vector{none, none}
	classes, highest := Cluster(at, Most)
	if highest != 1 || classes[3] != 0 || slices.Max(classes) != 1 {
		t.Errorf("%d levels: %v", highest, classes)
	}
}

// Classes that hardly differ are one.
func TestLevelsDifferByAQuarter(t *testing.T) {
	for slow, want := range map[float64]int{1.1: 1, 1.5: 2} {
		at := []Vector{{20, 50}, {20, 50}, {20 * slow, 50 * slow}, {20 * slow, 50 * slow}}
		if classes, highest := Cluster(at, Most); highest != want {
			t.Errorf("nodes that take %v times as long: %v", slow, classes)
		}
	}
}

// No node is on a higher class than one that is faster in all that both have done.
func TestLevelsAreInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Float64Range(1, 100), rapid.Just(none))
		at := make([]Vector, rapid.IntRange(0, 12).Draw(t, "nodes"))
		complete := rapid.Bool().Draw(t, "complete")
		for i := range at {
			for d := range at[i] {
				if at[i][d] = number.Draw(t, "time"); complete && math.IsNaN(at[i][d]) {
					at[i][d] = 7
				}
			}
		}
		classes, highest := Cluster(at, Most)
		for i := range at {
			known := !math.IsNaN(at[i][0]) || !math.IsNaN(at[i][1])
			if known != (classes[i] > 0) || classes[i] > highest {
				t.Fatalf("%v is on level %d of %d", at[i], classes[i], highest)
			}
			for j := range at {
				if complete && at[i][0] < at[j][0] && at[i][1] < at[j][1] && classes[i] < classes[j] {
					t.Fatalf("%v is on level %d, %v on %d", at[i], classes[i], at[j], classes[j])
				}
			}
		}
	})
}
