package nodeset_test

import (
	"slices"
	"testing"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/measure"
	"heddle/rm/scheduler/nodeset"
	"heddle/yarn/records"
)

func amount(mb, cores int64) records.Resource { return records.NewResource(mb, cores) }

// set is nodes of one rack, each on a host of its own, of which only memory counts if memory says so.
func set(memory bool, hosts ...string) (*nodeset.Set, *measure.Calculator) {
	calc := measure.New(2, amount(1, 1))
	calc.SetMemoryOnly(memory)
	s := nodeset.New(&calc, &handle.Space[handle.Node]{})
	for _, h := range hosts {
		s.Reindex(s.Add(nodeset.Spec{Host: h, Rack: "/r", Capability: amount(8, 4)}))
	}
	return &s, &calc
}

// charge has a node hold so much more.
func charge(s *nodeset.Set, h handle.Node, mb, cores int64, containers int) {
	r := amount(mb, cores)
	s.Charge(&s.At[h], &r, containers)
	s.Reindex(h)
}

// Room is what is measured of what a node's containers leave, and none where the node is closed or reserved.
func TestRoomOfANode(t *testing.T) {
	for name, x := range map[string]struct {
		memory bool
		change func(s *nodeset.Set)
		size   records.Resource
		room   bool
	}{
		"all that is left":          {false, nil, amount(2, 3), true},
		"more memory":               {false, nil, amount(3, 1), false},
		"more cores":                {false, nil, amount(1, 4), false},
		"cores that don't count":    {true, nil, amount(2, 9), true},
		"memory where cores don't":  {true, nil, amount(3, 0), false},
		"closed":                    {false, func(s *nodeset.Set) { s.SetOpen(0, nodeset.NoWork) }, amount(1, 1), false},
		"open to some work":         {false, func(s *nodeset.Set) { s.SetOpen(0, nodeset.WorkOf(0)) }, amount(1, 1), true},
		"reserved":                  {false, func(s *nodeset.Set) { s.At[0].Reserved = 0 }, amount(1, 1), false},
		"shrunk to what is held":    {false, func(s *nodeset.Set) { s.SetCapability(0, amount(6, 4)) }, amount(0, 3), true},
		"shrunk below what is held": {false, func(s *nodeset.Set) { s.SetCapability(0, amount(5, 4)) }, amount(0, 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			s, calc := set(x.memory, "a")
			charge(s, 0, 6, 1, 1)
			if x.change != nil {
				x.change(s)
			}
			s.Reindex(0)
			rack := s.IndexOf(s.Sites[s.At[0].Rack].Rack)
			measured := calc.Measure(x.size)
			if got := [3]bool{s.HasRoom(&s.At[0], &x.size), s.Index.Has(&measured), rack.Has(&measured)}; got != [3]bool{x.room, x.room, x.room} {
				t.Errorf("the node, all nodes and the rack have room for %v: %v", x.size, got)
			}
		})
	}
}

// Only what is measured is free.
func TestFreeOfANode(t *testing.T) {
	for memory, want := range map[bool]records.Resource{true: amount(2, 0), false: amount(2, 3)} {
		s, _ := set(memory, "a")
		charge(s, 0, 6, 1, 2)
		if got := s.Free(&s.At[0]); got != want || s.At[0].Containers != 2 || s.At[0].Used != amount(6, 1) {
			t.Errorf("%v is free beside %d containers with %v", got, s.At[0].Containers, s.At[0].Used)
		}
		charge(s, 0, -6, -1, -2)
		if s.At[0].Containers != 0 || !s.At[0].Used.IsZero() || s.Free(&s.At[0]) != *s.Capability(&s.At[0]) && !memory {
			t.Errorf("%d containers are left, with %v", s.At[0].Containers, s.At[0].Used)
		}
	}
}

// A cluster is as large as its open nodes, and what is still used on closed ones.
func TestSizeOfTheCluster(t *testing.T) {
	s, _ := set(false, "a", "b", "c")
	is := func(when string, cluster, smallest, largest records.Resource, partly int) {
		t.Helper()
		if s.Cluster != cluster || s.Smallest() != smallest || s.Largest() != largest || s.PartlyOpen != partly {
			t.Errorf("%s: %v, nodes from %v to %v, %d of them partly open", when, s.Cluster, s.Smallest(), s.Largest(), s.PartlyOpen)
		}
	}
	is("three nodes", amount(24, 12), amount(8, 4), amount(8, 4), 0)
	s.SetCapability(1, amount(2, 9))
	is("one is another", amount(18, 17), amount(2, 4), amount(8, 9), 0)
	charge(s, 0, 3, 1, 1)
	s.SetOpen(0, nodeset.NoWork)
	is("one is closed with 3 MB in use", amount(13, 14), amount(2, 4), amount(8, 9), 0)
	charge(s, 0, -2, 0, 0)
	is("and 2 of them end", amount(11, 14), amount(2, 4), amount(8, 9), 0)
	s.SetOpen(2, nodeset.WorkOf(1, 3))
	is("one is partly open", amount(11, 14), amount(2, 4), amount(8, 9), 1)
	s.SetOpen(2, nodeset.WorkOf(2))
	is("to other work", amount(11, 14), amount(2, 4), amount(8, 9), 1)
	s.Shut(2)
	s.Remove(2)
	is("and goes", amount(3, 10), amount(2, 9), amount(2, 9), 0)
	s.SetOpen(0, nodeset.AllWork)
	is("the closed one is opened", amount(10, 13), amount(2, 4), amount(8, 9), 0)
	if got := s.Headroom(); got != amount(9, 12) {
		t.Errorf("%v is free", got)
	}
}

// Names of hosts and racks lead to their nodes, of which there may be several on a host; handles and places are used again.
func TestNodesByName(t *testing.T) {
	s, _ := set(false, "a", "b", "a")
	site := func(name string) nodeset.Site {
		id, ok := s.Names.Find(name)
		if !ok || s.Name(id) != name || s.Intern(name) != id {
			t.Fatalf("%s is not known, or by another number", name)
		}
		return s.Sites[id]
	}
	if got := site("a").Nodes; !slices.Equal(got, []handle.Node{0, 2}) || site("/r").Nodes != nil || site("a").Rack != nil {
		t.Errorf("host a has %v", got)
	}
	if got := site("/r").Rack.Nodes; !slices.Equal(got, []handle.Node{0, 1, 2}) {
		t.Errorf("the rack has %v", got)
	}
	if a, b := s.Intern("a"), s.Intern("b"); s.At[0].Host != a || s.At[1].Host != b || s.At[0].Rack != s.At[1].Rack || s.At[0].Rack == a || a == b {
		t.Errorf("node 0 is on host %d in rack %d, node 1 on host %d in rack %d", s.At[0].Host, s.At[0].Rack, s.At[1].Host, s.At[1].Rack)
	}
	before := s.Places
	s.Shut(0)
	if s.At[0].Live || s.At[0].Open != nodeset.NoWork || !s.At[1].Live || s.Places == before {
		t.Error("a node that was shut is live, or nobody sees that it has gone")
	}
	s.Remove(0)
	if got := site("a").Nodes; !slices.Equal(got, []handle.Node{2}) {
		t.Errorf("host a has %v", got)
	}
	if got := site("/r").Rack.Nodes; !slices.Equal(got, []handle.Node{handle.NoNode, 1, 2}) {
		t.Errorf("the rack has %v", got)
	}
	// With the node that comes the rack has three again, and room on all of them.
	if h := s.Add(nodeset.Spec{Host: "d", Rack: "/r", Capability: amount(1, 1)}); h != 0 || s.At[h].Open != nodeset.AllWork || !s.At[h].Live {
		t.Fatalf("node %d comes, open to %b", h, s.At[h].Open)
	}
	s.Reindex(0)
	rack := site("/r").Rack
	one, two := amount(1, 1), amount(2, 1)
	if got := rack.Nodes; !slices.Equal(got, []handle.Node{0, 1, 2}) || len(rack.Free) != 0 || s.IndexOf(rack).Next(0, &one) != 0 || s.IndexOf(rack).Next(0, &two) != 1 {
		t.Errorf("the rack has %v, the first one with room is %d", got, s.IndexOf(rack).Next(0, &one))
	}
}

// The index of a rack follows each change of its nodes, before and after it was looked at.
func TestIndexOfARack(t *testing.T) {
	s, _ := set(false, "a", "b")
	rack := s.Sites[s.At[0].Rack].Rack
	whole := amount(8, 4)
	for range 3 {
		for h := range handle.Node(2) {
			charge(s, h, 1, 0, 1)
			if got := s.IndexOf(rack).Next(0, &whole); got != int(1-h) {
				t.Errorf("node %d has room while %d hasn't", got, h)
			}
			charge(s, h, -1, 0, -1)
			charge(s, h, 1, 0, 1)
			charge(s, h, -1, 0, -1)
			if got := s.IndexOf(rack).Next(0, &whole); got != 0 {
				t.Errorf("node %d has room first where both have", got)
			}
		}
	}
}

func TestKindsOfWork(t *testing.T) {
	if got := nodeset.WorkOf(0, 2, 7); got != 1|4|128 {
		t.Errorf("the kinds 0, 2 and 7 are %b", got)
	}
	if nodeset.WorkOf() != nodeset.NoWork || nodeset.WorkOf(0, 1, 2, 3, 4, 5, 6, 7) != nodeset.AllWork {
		t.Error("no kinds aren't no work, or all kinds not all work")
	}
	if nodeset.OpenIf(true) != nodeset.AllWork || nodeset.OpenIf(false) != nodeset.NoWork {
		t.Error("open nodes take all work, and closed ones none")
	}
	for open, want := range map[nodeset.Works]int{nodeset.NoWork: 0, nodeset.AllWork: 0, nodeset.WorkOf(0): 1, nodeset.WorkOf(7, 1): 1} {
		if n := (nodeset.Node{Open: open}); n.Partly() != want {
			t.Errorf("a node that is open to %b counts %d times as partly open", open, n.Partly())
		}
	}
}
