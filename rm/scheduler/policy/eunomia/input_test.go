package eunomia_test

import (
	"math"
	"strings"
	"testing"

	"heddle/rm/scheduler/policy/eunomia"
)

// A job whose constraint no node satisfies gets nothing, is told why, and keeps nobody else from the nodes.
func TestConstraintThatNoNodeSatisfies(t *testing.T) {
	nodes := []nodeSpec{{"a", 1, slot.Times(4)}, {"b", 2, slot.Times(4)}}
	w := newWorld(t, eunomia.Name, nodes, []job{
		{tasks: 2, length: 1000, size: slot, hosts: []string{"nowhere"}}, {tasks: 20, length: 1000, size: slot},
	})
	w.until = 60_000
	w.run()
	if w.ended[1] == 0 || w.running[0] != 0 {
		t.Errorf("the other job ends at %d; %d tasks of the one that fits nowhere run", w.ended[1], w.running[0])
	}
	said := ""
	for _, r := range w.driver.Explain(w.of[0]) {
		said += r.Text + "; " + r.Free
	}
	if !strings.Contains(said, "none of the 2 nodes that take containers is one that the request admits") {
		t.Errorf("it is told %q", said)
	}
}

// A weight of 0, or one that is no number, counts as 1: else one task would be an infinite share.
func TestWeightOfZeroCountsAsOne(t *testing.T) {
	for _, weight := range []float64{0, -1, math.NaN()} {
		p := bench(eunomia.Name)
		a := app(0, "SPARK", 2)
		grant(p, a, 1, node(0), slot, 1)
		was := p.Ratio(a)
		a.Weight = weight
		ratio(t, p, a, was, "a weight that can't be")
	}
}
