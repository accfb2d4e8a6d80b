package staged

import (
	"testing"

	"heddle/rm/scheduler/handle"
)

func all(handle.Node) bool { return true }

func (t *Table) best(test *testing.T, a handle.App, suits func(handle.Node) bool, want handle.Node) {
	test.Helper()
	if got := t.Best(a, suits); got != want {
		test.Errorf("node %d, want %d", got, want)
	}
}

// The node with the input of most containers comes first, of those that suit, until its input was read.
func TestTheNodeWithMostInput(t *testing.T) {
	var x Table
	x.best(t, 1, all, handle.NoNode)
	x.Set(1, 7, 0)
	if x.Has(1) {
		t.Error("an application has input where there is none")
	}
	x.Set(1, 7, 1)
	x.Set(1, 8, 2)
	x.Set(2, 9, 5)
	x.best(t, 1, all, 8)
	x.best(t, 1, func(n handle.Node) bool { return n != 8 }, 7)
	x.best(t, 1, func(n handle.Node) bool { return n == 9 }, handle.NoNode)
	x.Took(1, 8)
	x.Took(1, 8)
	x.Took(1, 8) // more than there were
	x.Took(3, 8)
	x.best(t, 1, all, 7)
	x.Set(1, 8, 3)
	x.best(t, 1, all, 8)
	x.Left(8)
	x.best(t, 1, all, 7)
	x.Set(1, 7, 0)
	if x.Has(1) || !x.Has(2) {
		t.Error("an application has input where there is none, or has lost it")
	}
	x.Forget(2)
	if x.Has(2) || len(x.of) > 0 {
		t.Errorf("%v is left", x.of)
	}
}

// Each search looks at some of many nodes, and all are looked at in the end.
func TestSearchesAreBounded(t *testing.T) {
	var x Table
	const nodes = 10 * looked
	for n := range handle.Node(nodes) {
		x.Set(1, n, 1)
	}
	seen := map[handle.Node]int{}
	for range nodes / looked {
		before := len(seen)
		x.best(t, 1, func(n handle.Node) bool { seen[n]++; return false }, handle.NoNode)
		if len(seen)-before != looked {
			t.Errorf("%d nodes were looked at", len(seen)-before)
		}
	}
}
