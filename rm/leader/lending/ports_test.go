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
	want(&first, []ProbeNode{{a, 5, false, false}, {b, 7, false, false}}, nil)
	want(&first, nil, nil)
	all.Set(a, 5) // nothing new
	want(&first, nil, nil)
	all.Set(a, 6)
	all.Set(b, 0)
	want(&first, []ProbeNode{{a, 6, false, false}}, []records.NodeID{b})
	want(&second, []ProbeNode{{a, 6, false, false}}, nil)
	all.Set(a, 0)
	all.Set(a, 6) // it was away for nobody
	want(&second, nil, nil)
	all.SetLong(a, true)
	all.SetLong(b, true) // it takes no probes
	want(&second, []ProbeNode{{a, 6, true, false}}, nil)
	all.SetLong(a, true)
	want(&second, nil, nil)
	all.Set(b, 8)
	all.SetLong(a, false)
	want(&second, []ProbeNode{{a, 6, false, false}, {b, 8, true, false}}, nil)
	all.SetLong(a, true)
	all.SetLong(a, false) // nobody was told
	want(&second, nil, nil)
	all.SetShort(a, true)
	all.SetShort(records.NodeID{Host: "c", Port: 1}, true) // it takes no probes
	want(&second, []ProbeNode{{a, 6, false, true}}, nil)
	all.SetShort(a, true)
	want(&second, nil, nil)
	all.SetShort(a, false)
	want(&second, []ProbeNode{{a, 6, false, false}}, nil)
}
