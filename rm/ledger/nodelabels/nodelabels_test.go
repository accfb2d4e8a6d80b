package nodelabels

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"google.golang.org/protobuf/proto"

	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/records"
)

func change(added string, removed []string, nodes ...string) *ledgerpb.NodeLabelsChanged {
	c := &ledgerpb.NodeLabelsChanged{Removed: removed}
	for _, name := range added {
		c.Added = append(c.Added, &ledgerpb.NodeLabel{Name: string(name), Exclusive: name != 's'})
	}
	for _, n := range nodes { // h:p=label
		host, port, label := n[:1], int32(n[2]-'0'), n[4:]
		c.Nodes = append(c.Nodes, &ledgerpb.LabelledNode{Node: &ledgerpb.NodeRef{Host: host, Port: port}, Label: label})
	}
	return c
}

func id(host string, port int32) records.NodeID { return records.NodeID{Host: host, Port: port} }

func TestLabelsOfNodes(t *testing.T) {
	var l Labels
	step := func(c *ledgerpb.NodeLabelsChanged, want ...string) {
		t.Helper()
		if err := l.Apply(c); err != nil {
			t.Fatal(err)
		}
		for i, of := range []records.NodeID{id("a", 1), id("a", 2), id("b", 1)} {
			if got := l.Of(of); got != want[i] {
				t.Errorf("%v has %q, not %q", of, got, want[i])
			}
		}
		var again Labels
		if again.Restore(l.Record()); !maps.Equal(again.Nodes, l.Nodes) || !maps.Equal(again.Exclusive, l.Exclusive) {
			t.Errorf("of a record: %+v; not %+v", again, l)
		}
	}
	step(change("xys", nil), "", "", "")
	step(change("", nil, "a:0=x"), "x", "x", "")
	step(change("", nil, "a:2=y"), "x", "y", "")
	step(change("", nil, "a:2=", "b:1=s"), "x", "", "s") // said of the node, while the host has one
	step(change("", nil, "a:0=y"), "y", "y", "s")        // which the host's next one ends
	step(change("", nil, "a:2=x", "a:0=s"), "s", "x", "s")
	step(change("", []string{"s"}), "", "x", "")
	step(change("s", nil, "a:0="), "", "", "")
	if len(l.Nodes) != 0 {
		t.Errorf("left: %v", l.Nodes)
	}
	if l.Exclusive["s"] || !l.Exclusive["x"] || fmt.Sprint(l.Names()) != "[s x y]" {
		t.Errorf("%v", l.Exclusive)
	}
}

func TestChangesThatCannotBeChangeNothing(t *testing.T) {
	var l Labels
	if err := l.Apply(change("x", nil, "a:0=x")); err != nil {
		t.Fatal(err)
	}
	before := proto.Clone(l.Record())
	other := change("", nil)
	other.Added = []*ledgerpb.NodeLabel{{Name: "new"}, {Name: "x"}}
	many := &ledgerpb.NodeLabelsChanged{}
	for i := range MaxLabels {
		many.Added = append(many.Added, &ledgerpb.NodeLabel{Name: fmt.Sprint(i)})
	}
	for name, c := range map[string]*ledgerpb.NodeLabelsChanged{
		"another exclusivity": other, "an unknown label is removed": change("", []string{"x", "y"}), "a node's label is unknown": change("", nil, "a:1=x", "b:1=y"),
		"an odd name": {Added: []*ledgerpb.NodeLabel{{Name: "-"}}}, "no host": {Nodes: []*ledgerpb.LabelledNode{{Label: "x"}}}, "too many": many,
	} {
		err := l.Apply(c)
		if err == nil || !proto.Equal(before, l.Record()) {
			t.Errorf("%s: %v, %v", name, err, l.Record())
		}
		if (name == "too many") != errors.Is(err, ErrBound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
