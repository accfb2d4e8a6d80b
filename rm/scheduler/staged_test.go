package scheduler

import (
	"slices"
	"testing"
)

// Requests are served on hosts that they name, and of these first where their input is in memory, for as many containers as have it there.
func TestNodeLocalRequestsPreferInputInMemory(t *testing.T) {
	s := New(Config{Minimum: res(1, 1)})
	for _, host := range []string{"n0", "n1", "n2", "n3"} {
		s.AddNode(NodeSpec{Host: host, Rack: "/r", Capability: res(8, 8)})
	}
	a := s.AddApp(AppSpec{User: "u", AM: res(1, 1)})
	wants := func(what string, count int32, hosts []string, want ...NodeHandle) {
		t.Helper()
		asks := []Ask{row(1, Any, count, true), row(1, "/r", count, true)}
		for _, h := range hosts {
			asks = append(asks, row(1, h, count, true))
		}
		s.UpdateAsks(a, asks)
		var got []NodeHandle
		for _, d := range s.Schedule(1000) {
			if d.Kind == Allocate {
				got = append(got, d.Node)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: nodes %v, want %v", what, got, want)
		}
		clear := []Ask{row(1, Any, 0, true), row(1, "/r", 0, true)}
		for _, h := range hosts {
			clear = append(clear, row(1, h, 0, true))
		}
		s.UpdateAsks(a, clear)
	}
	wants("nothing is in memory", 1, []string{"n0", "n1", "n2"}, 0)
	s.NoteStaged(a, 2, 2)
	s.NoteStaged(a, 1, 1)
	s.NoteStaged(a, 3, 9) // which the requests don't name
	wants("input is in memory", 4, []string{"n0", "n1", "n2"}, 2, 2, 1, 0)
	wants("it was read", 1, []string{"n0", "n1", "n2"}, 0)
	s.NoteStaged(a, 2, 1)
	s.UpdateBlacklist(a, []string{"n2"}, nil)
	wants("its node is excluded", 1, []string{"n0", "n2"}, 0)
	s.UpdateBlacklist(a, nil, []string{"n2"})
	s.At(2).SetCapability(2, res(2, 2))
	wants("its node is full", 1, []string{"n0", "n2"}, 0)
}
