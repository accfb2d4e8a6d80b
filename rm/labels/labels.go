// Package labels shows which labels of nodes there are, and which nodes have them, from the committed ledger.
package labels

import (
	"slices"

	"heddle/rm/ledger"
	"heddle/yarn/records"
)

// Label is a label of nodes. The one without a name stands for nodes without a label.
type Label struct {
	Name      string
	Exclusive bool
	Nodes     []records.NodeID // that have it, by host and port; port 0 is a host
	Active    int              // nodes that work now
	Size      records.Resource // of these
}

// Labelled is a node, or with port 0 a host, that has a label.
type Labelled struct {
	Node  records.NodeID
	Label Label
}

// Viewer looks at a ledger.
type Viewer struct {
	// Read calls f with the committed ledger, which f must neither change nor keep.
	Read func(f func(*ledger.State))
	// On says that nodes have the labels that are on record.
	On bool
}

// All returns all labels, sorted, behind nodes without one; just these where labels are off.
func (v Viewer) All() (all []Label) {
	v.Read(func(s *ledger.State) { all = v.all(s) })
	return all
}

func (v Viewer) all(s *ledger.State) []Label {
	all, at := []Label{{Exclusive: true}}, map[string]int{"": 0}
	if v.On {
		for _, name := range s.Labels.Names() {
			at[name] = len(all)
			all = append(all, Label{Name: name, Exclusive: s.Labels.Exclusive[name]})
		}
		for id, name := range s.Labels.Nodes {
			if name != "" {
				all[at[name]].Nodes = append(all[at[name]].Nodes, id)
			}
		}
	}
	for id, n := range s.Nodes {
		l := &all[at[v.Of(s, id)]]
		if l.Name != "" && n.Usable() && s.Labels.Nodes[id] == "" {
			l.Nodes = append(l.Nodes, id)
		}
		if n.Usable() {
			l.Active++
			l.Size = l.Size.Add(n.Capability)
		}
	}
	for i := range all {
		slices.SortFunc(all[i].Nodes, records.NodeID.Compare)
	}
	return all
}

// Of returns the label of a node, empty if it has none.
func (v Viewer) Of(s *ledger.State, id records.NodeID) string {
	if !v.On {
		return ""
	}
	return s.Labels.Of(id)
}

// Nodes returns all nodes and hosts that have a label, by host and port.
func (v Viewer) Nodes() (all []Labelled) {
	for _, l := range v.All() {
		for _, id := range l.Nodes {
			all = append(all, Labelled{id, l})
		}
	}
	slices.SortFunc(all, func(a, b Labelled) int { return a.Node.Compare(b.Node) })
	return all
}

// Sizes returns what working nodes with each label have together.
func (v Viewer) Sizes() map[string]records.Resource {
	sizes := map[string]records.Resource{}
	for _, l := range v.All()[1:] {
		sizes[l.Name] = l.Size
	}
	return sizes
}
