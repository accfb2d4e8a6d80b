// Package nodelabels is the part of the ledger that records the labels of nodes: which there are, and which node has which. It is pure.
//
// A node has one label or none. A label may be given to all nodes of a host, before any of them has registered, and to single nodes.
package nodelabels

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/queue/label"
	"heddle/yarn/records"
)

// Bounds of what administrators and nodes may leave in the ledger.
const (
	MaxLabels = 4096
	MaxNodes  = 200_000
)

// ErrBound is wrapped by errors of changes that would leave more.
var ErrBound = errors.New("too many")

// Labels are the labels of a cluster. The zero value has none. the maps never change: a change replaces them, so that copies may share them.
type Labels struct {
	// Exclusive has all labels. Requests without a label get nothing of the nodes of an exclusive one.
	Exclusive map[string]bool
	// Nodes are the nodes with labels. Port 0 is all nodes of the host that don't stand here themselves. One that does may have no label (an
	// empty one), while its host has one.
	Nodes map[records.NodeID]string
	// Imported: the store of another ResourceManager was taken over.
	Imported bool
}

// Of returns the label of a node, empty if it has none.
func (l *Labels) Of(id records.NodeID) string {
	if own, said := l.Nodes[id]; said {
		return own
	}
	return l.Nodes[host(id)]
}

// host stands for all nodes of a node's host.
func host(id records.NodeID) records.NodeID { return records.NodeID{Host: id.Host} }

// Names returns the names of all labels, sorted.
func (l *Labels) Names() []string { return slices.Sorted(maps.Keys(l.Exclusive)) }

// Empty reports whether there is nothing to record.
func (l *Labels) Empty() bool { return len(l.Exclusive) == 0 && !l.Imported }

// Apply makes a change. An error changes nothing.
func (l *Labels) Apply(c *ledgerpb.NodeLabelsChanged) error {
	next := Labels{Exclusive: maps.Clone(l.Exclusive), Nodes: l.Nodes, Imported: l.Imported || c.GetImported()}
	if next.Exclusive == nil {
		next.Exclusive = map[string]bool{}
	}
	if len(c.GetRemoved())+len(c.GetNodes()) > 0 {
		next.Nodes = maps.Clone(l.Nodes)
	}
	if next.Nodes == nil {
		next.Nodes = map[records.NodeID]string{}
	}
	for _, a := range c.GetAdded() {
		if err := next.add(a.GetName(), a.GetExclusive()); err != nil {
			return err
		}
	}
	if err := next.remove(c.GetRemoved()); err != nil {
		return err
	}
	if err := next.label(c.GetNodes()); err != nil {
		return err
	}
	if len(next.Exclusive) == 0 {
		next.Exclusive = nil
	}
	if len(next.Nodes) == 0 {
		next.Nodes = nil
	}
	*l = next
	return nil
}

func (l *Labels) add(name string, exclusive bool) error {
	if err := label.Check(name); err != nil {
		return err
	}
	if is, known := l.Exclusive[name]; known && is != exclusive {
		return fmt.Errorf("label %s has another exclusivity", name)
	}
	if l.Exclusive[name] = exclusive; len(l.Exclusive) > MaxLabels {
		return fmt.Errorf("%w labels: at most %d are possible", ErrBound, MaxLabels)
	}
	return nil
}

func (l *Labels) remove(names []string) error {
	gone := map[string]bool{}
	for _, name := range names {
		if _, known := l.Exclusive[name]; !known && !gone[name] {
			return fmt.Errorf("there is no label %s", name)
		}
		delete(l.Exclusive, name)
		gone[name] = true
	}
	if len(gone) == 0 {
		return nil
	}
	for id, name := range l.Nodes {
		if gone[name] {
			l.Nodes[id] = ""
		}
	}
	l.tidy()
	return nil
}

func (l *Labels) label(nodes []*ledgerpb.LabelledNode) error {
	hosts := map[string]bool{} // of which single nodes are to follow
	for _, n := range nodes {
		id, name := records.NodeID{Host: n.GetNode().GetHost(), Port: n.GetNode().GetPort()}, n.GetLabel()
		if _, known := l.Exclusive[name]; !known && name != "" {
			return fmt.Errorf("node %v can't have label %s, which there isn't", id, name)
		}
		if id.Host == "" {
			return errors.New("a node without a host has a label")
		}
		if l.Nodes[id] = name; id.Port == 0 {
			hosts[id.Host] = true
		}
	}
	if len(hosts) > 0 {
		for id := range l.Nodes {
			if id.Port != 0 && hosts[id.Host] {
				delete(l.Nodes, id)
			}
		}
		for _, n := range nodes { // what the same change says of single nodes holds
			if n.GetNode().GetPort() != 0 {
				l.Nodes[records.NodeID{Host: n.GetNode().GetHost(), Port: n.GetNode().GetPort()}] = n.GetLabel()
			}
		}
	}
	if l.tidy(); len(l.Nodes) > MaxNodes {
		return fmt.Errorf("%w nodes and hosts with labels: at most %d are possible", ErrBound, MaxNodes)
	}
	return nil
}

// tidy drops what says nothing: nodes without a label, on hosts without one.
func (l *Labels) tidy() {
	for id, name := range l.Nodes {
		if name == "" && l.Nodes[host(id)] == "" {
			delete(l.Nodes, id)
		}
	}
}

// Record returns all labels as a snapshot has them, in order.
func (l *Labels) Record() *ledgerpb.NodeLabels {
	r := &ledgerpb.NodeLabels{Imported: l.Imported}
	for _, name := range l.Names() {
		r.Labels = append(r.Labels, &ledgerpb.NodeLabel{Name: name, Exclusive: l.Exclusive[name]})
	}
	ids := slices.Collect(maps.Keys(l.Nodes))
	slices.SortFunc(ids, func(a, b records.NodeID) int { return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port)) })
	for _, id := range ids {
		r.Nodes = append(r.Nodes, &ledgerpb.LabelledNode{Node: &ledgerpb.NodeRef{Host: id.Host, Port: id.Port}, Label: l.Nodes[id]})
	}
	return r
}

// Restore takes over what Record has made.
func (l *Labels) Restore(r *ledgerpb.NodeLabels) {
	*l = Labels{Imported: r.GetImported()}
	for _, a := range r.GetLabels() {
		if l.Exclusive == nil {
			l.Exclusive = map[string]bool{}
		}
		l.Exclusive[a.GetName()] = a.GetExclusive()
	}
	for _, n := range r.GetNodes() {
		if l.Nodes == nil {
			l.Nodes = map[records.NodeID]string{}
		}
		l.Nodes[records.NodeID{Host: n.GetNode().GetHost(), Port: n.GetNode().GetPort()}] = n.GetLabel()
	}
}
