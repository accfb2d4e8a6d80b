package speedclass

import (
	"math"
	"slices"
	"testing"
)

// Whatever is unknown is left out of a mean and a distance.
func TestVectorsWithUnknownTimes(t *testing.T) {
	for _, c := range []struct {
		of   Vector
		want float64
	}{{Vector{1, 3}, 2}, {Vector{none, 3}, 3}, {Vector{4, none}, 4}} {
		if got := pace(c.of); got != c.want {
			t.Errorf("pace of %v: %v", c.of, got)
		}
	}
	norm, nodes := normalized([]Vector{{10, none}, {30, 5}, {none, none}, {20, 15}})
	if want := []Vector{{0.5, none}, {1.5, 0.5}, {none, none}, {1, 1.5}}; !slices.Equal(nodes, []int{0, 1, 3}) || !slices.EqualFunc(norm, want, func(a, b Vector) bool {
		for d := range a {
			if a[d] != b[d] && !(math.IsNaN(a[d]) && math.IsNaN(b[d])) {
				return false
			}
		}
		return true
	}) {
		t.Errorf("%v of nodes %v", norm, nodes)
	}
}

// Algorithm 5.2.2: a distance is the mean over the dimensions that both have; of equal ones the first counts.
func TestNearestCentre(t *testing.T) {
	for name, c := range map[string]struct {
		of      Vector
		centres []Vector
		want    int
	}{
		"the second":                   {Vector{1, 1}, []Vector{{3, 3}, {1, 2}}, 1},
		"in the dimension that it has": {Vector{1, none}, []Vector{{2, 1}, {0.5, 9}}, 1},
		"none has it":                  {Vector{none, 1}, []Vector{{1, none}, {5, none}}, 0},
		"equally far":                  {Vector{2, 2}, []Vector{{1, 1}, {3, 3}}, 0},
		"a mean, not a sum":            {Vector{1, 1}, []Vector{{1 + math.Sqrt(0.85), none}, {1.95, 1.85}}, 1},
	} {
		if got := nearest(c.of, c.centres); got != c.want {
			t.Errorf("%s: %d", name, got)
		}
	}
}

// Algorithm 5.2.2 goes on until no group moves: the centre of the slow nodes leaves all but one of them behind.
func TestClusteringGoesOnUntilItSettles(t *testing.T) {
	var at []Vector
	for _, x := range []float64{100, 30, 29, 28, 27, 26, 25, 1} {
		at = append(at, Vector{x, none})
	}
	if classes, highest := Cluster(at, 2); highest != 2 || !slices.Equal(classes, []int{1, 2, 2, 2, 2, 2, 2, 2}) {
		t.Errorf("levels %v up to %d", classes, highest)
	}
	if classes, highest := Cluster([]Vector{{1, 1}, {1, 1}}, 0); highest != 1 || !slices.Equal(classes, []int{1, 1}) {
		t.Errorf("levels %v up to %d", classes, highest)
	}
	if norm, _ := normalized([]Vector{{0, none}}); norm[0][0] != 1 {
		t.Errorf("no time at all counts as %v", norm)
	}
}

// Algorithm 5.2.1: it doesn't matter which of two nodes is the better one in which dimension, nor where in the list a group stands that the merged
// one meets, and after a merger all are compared again.
func TestGroupingDoesNotDependOnTheOrder(t *testing.T) {
	for name, c := range map[string]struct {
		at   []Vector
		want int
	}{
		"the first is worse at first":  {[]Vector{{2, 1}, {1, 2}}, 1},
		"one before them meets them":   {[]Vector{{9, 4}, {1, 4}, {4, 1}}, 1},
		"one behind clashes with both": {[]Vector{{1, 4}, {4, 1}, {0.5, 5}}, 1},
		"one before stays":             {[]Vector{{9, 9}, {1, 4}, {4, 1}}, 2},
	} {
		nodes := make([]int, len(c.at))
		for i := range nodes {
			nodes[i] = i
		}
		if got := group(nodes, c.at); len(got) != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
