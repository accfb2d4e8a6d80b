package lending

import (
	"slices"
	"testing"

	"heddle/yarn/records"
)

func TestEachIsToldWhatHasChanged(t *testing.T) {
	a, b := records.NodeID{Host: "a", Port: 1}, records.NodeID{Host: "b", Port: 1}
	var all Ports
	var first, second Told
	want := func(told *Told, come []ProbeNode, gone []records.NodeID) {
		t.Helper()
		gotCome, gotGone := all.News(told)
		if !slices.Equal(gotCome, come) || !slices.Equal(gotGone, gone) {
			t.Errorf("told of %v and %v, not of %v and %v", gotCome, gotGone, come, gone)
		}
	}
	want(&first, nil, nil)
	all.Set(b, 7)
	all.Set(a, 5)
	want(&first, []ProbeNode{{a, 5}, {b, 7}}, nil)
	want(&first, nil, nil)
	all.Set(a, 5) // nothing new
	want(&first, nil, nil)
	all.Set(a, 6)
	all.Set(b, 0)
	want(&first, []ProbeNode{{a, 6}}, []records.NodeID{b})
	want(&second, []ProbeNode{{a, 6}}, nil)
	all.Set(a, 0)
	all.Set(a, 6) // it was away for nobody
	want(&second, nil, nil)
}
