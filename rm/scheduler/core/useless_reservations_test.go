package core_test

import (
	"testing"

	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeset"
	"heddle/rm/scheduler/schedulertest"
)

// reservations schedules, and returns where nodes were reserved, and where reservations were undone.
func (c *cluster) reservations() (made, undone []handle.Node) {
	c.t.Helper()
	for _, d := range c.Schedule(c.Now) {
		switch d.Kind {
		case core.Reserve:
			made = append(made, d.Node)
		case core.Unreserve:
			undone = append(undone, d.Node)
		}
	}
	if err := c.Check(); err != nil {
		c.t.Fatal(err)
	}
	return made, undone
}

// reserved is a cluster of three nodes with 4 GB free each, and an application that has the first one reserved for 5 GB.
func reserved(t *testing.T) (c *cluster, h handle.App) {
	c = start(t, nil, "n0", "n1", "n2")
	other := c.app("root.b", "v", 0)
	for n := range handle.Node(3) {
		c.Restore(other, n, gb(6))
	}
	h = c.app("root.a", "u", 0, row(1, 5))
	if made, _ := c.reservations(); len(made) != 1 || made[0] != 0 {
		t.Fatalf("reserved are %v", made)
	}
	return c, h
}

// A node isn't reserved from others for an application that excludes it, though nothing has happened on any node.
func TestExcludedNodesAreNotReserved(t *testing.T) {
	c, h := reserved(t)
	waits := c.app("root.b", "w", 0, row(1, 1), only(row(1, 1)), at(row(1, 1), "n0"))
	if _, granted := c.run(c.Now); len(granted) != 0 {
		t.Fatalf("granted on a reserved node: %v", granted)
	}
	c.UpdateBlacklist(h, []string{"n0"}, nil)
	if _, granted := c.run(c.Now); len(granted[waits]) != 1 || c.Containers[granted[waits][0]].Node != 0 {
		t.Errorf("for who waits: %v", granted)
	}
}

// An application that excludes a node that is reserved for it gets another one reserved.
func TestAnotherNodeIsReservedForOneThatIsExcluded(t *testing.T) {
	c, h := reserved(t)
	c.UpdateBlacklist(h, []string{"n0"}, nil)
	made, undone := c.reservations()
	if len(undone) != 1 || undone[0] != 0 || len(made) != 1 || made[0] != 1 {
		t.Errorf("undone on %v, made on %v", undone, made)
	}
}

// A request whose reservation was withdrawn is tried again, and doesn't wait for some node to have room for it.
func TestWithdrawnReservationsAreMadeAnew(t *testing.T) {
	c, _ := reserved(t)
	if !c.Unreserve(c.Nodes.At[0].Reserved) {
		t.Fatal("there is no reservation")
	}
	if made, undone := c.reservations(); len(undone) != 1 || len(made) != 1 {
		t.Errorf("undone on %v, made on %v", undone, made)
	}
}

// What a queue may have at most can shrink with its maximum, or with the cluster. What is reserved beyond it is withdrawn.
func TestReservationsAboveAMaximumAreWithdrawn(t *testing.T) {
	for name, shrink := range map[string]func(c *cluster) error{
		"the maximum": func(c *cluster) error {
			return c.SetTree(schedulertest.Halves(c.t, map[string]string{"root.a.maximum-capacity": "20", "root.a.capacity": "20", "root.b.capacity": "80"}))
		},
		"the cluster": func(c *cluster) error { c.RemoveNode(2); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, map[string]string{"root.a.maximum-capacity": "50"}, "n0", "n1")
			c.AddNode(nodeset.Spec{Host: "n2", Rack: "/r", Capability: gb(6)})
			other := c.app("root.b", "v", 0)
			c.Restore(other, 0, gb(4))
			c.Restore(other, 1, gb(4))
			h := c.app("root.a", "u", 0)
			c.Restore(h, 1, gb(5))
			c.UpdateAsks(h, []core.Ask{row(1, 8)})
			made, _ := c.reservations()
			if len(made) != 1 {
				t.Fatalf("reserved are %v", made)
			}
			if err := shrink(c); err != nil {
				t.Fatal(err)
			}
			if made, undone := c.reservations(); len(undone) != 1 || len(made) != 0 {
				t.Errorf("undone on %v, made on %v", undone, made)
			}
		})
	}
}
