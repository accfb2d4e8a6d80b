package preempt

import (
	"math"
	"testing"

	"heddle/yarn/records"
)

// One amount in terms of another is by memory, or by the dominant share of each; anything is infinitely often in nothing.
func TestRatios(t *testing.T) {
	a, b, none := amount(5, 1), amount(4, 6), records.Resource{}
	for _, x := range []struct {
		dominant bool
		a, b     records.Resource
		want     float64
	}{
		{false, a, b, 1.25}, {true, a, b, 0.5 / 0.6}, {true, b, a, 0.6 / 0.5}, {false, a, none, math.Inf(1)}, {true, a, none, math.Inf(1)}, {true, none, a, 0},
	} {
		if got := (measure{x.dominant, amount(10, 10)}).ratio(x.a, x.b); math.Abs(got-x.want) > 1e-9 {
			t.Errorf("%v in %v, by the dominant share: %t: %v, want %v", x.b, x.a, x.dominant, got, x.want)
		}
	}
}

// Memory counts always, other types where dominant shares do and the cluster has any.
func TestWhichTypesCount(t *testing.T) {
	for _, x := range []struct {
		dominant      bool
		cluster, want records.Resource
	}{
		{false, amount(10, 10), amount(5, 0)}, {true, amount(10, 10), amount(5, 3)}, {true, amount(10, 0), amount(5, 0)},
	} {
		if got := (measure{x.dominant, x.cluster}).countedOf(amount(5, 3)); got != x.want {
			t.Errorf("%+v: %v, not %v", x, got, x.want)
		}
	}
}

// Containers of queues of a higher priority come first, then older ones, then those of a lower id. A queue is above another where it, or one
// above it, has a higher priority than its sibling there.
func TestWhichContainersComeFirst(t *testing.T) {
	s := &Snapshot{Queues: []Queue{{Parent: -1}, {Parent: 0, Priority: 2}, {Parent: 0, Priority: 1}, {Parent: 1, Priority: 0}, {Parent: 2, Priority: 9}}}
	for leaf, want := range map[int]bool{3: true, 4: false} {
		if s.aboveAny(leaf) != want {
			t.Errorf("queue %d is above another: %t", leaf, !want)
		}
	}
	x := underused{selection: &selection{Snapshot: s}}
	high, low := &App{Queue: 3}, &App{Queue: 4}
	at := func(a *App, since, id int64) owned {
		return owned{app: a, Container: &Container{Since: since, ID: records.ContainerID{ID: id}}}
	}
	order := []owned{at(high, 1, 3), at(high, 2, 1), at(high, 2, 2), at(low, 0, 0), at(low, 0, 4)}
	for i := range order {
		for j := range order {
			if got, want := x.compare(order[i], order[j]), j-i; got < 0 != (want > 0) || got > 0 != (want < 0) {
				t.Errorf("container %d before %d: %d", i, j, got)
			}
		}
	}
}
