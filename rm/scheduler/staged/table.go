package staged

import (
	"slices"

	"heddle/rm/scheduler/handle"
)

// looked is how many nodes of an application a search looks at: an application may have input on each node of a cluster.
const looked = 64

// Table is what is known of all applications. The zero value is empty and ready.
type Table struct {
	of map[handle.App]*inputs
}

// inputs are those of one application.
type inputs struct {
	nodes  []input
	cursor int // where the next search begins
}

// input is for how many waiting containers a node has the input in memory.
type input struct {
	node  handle.Node
	waits int32
}

// Set says for how many waiting containers of an application a node has the input in memory.
func (t *Table) Set(a handle.App, n handle.Node, waits int32) {
	of := t.of[a]
	if of == nil {
		if waits <= 0 {
			return
		}
		if t.of == nil {
			t.of = map[handle.App]*inputs{}
		}
		of = &inputs{}
		t.of[a] = of
	}
	switch i := of.index(n); {
	case waits <= 0 && i >= 0:
		of.nodes = slices.Delete(of.nodes, i, i+1)
		if len(of.nodes) == 0 {
			delete(t.of, a)
		}
	case waits <= 0:
	case i >= 0:
		of.nodes[i].waits = waits
	default:
		of.nodes = append(of.nodes, input{n, waits})
	}
}

func (of *inputs) index(n handle.Node) int {
	return slices.IndexFunc(of.nodes, func(x input) bool { return x.node == n })
}

// Has reports whether any node has input of an application in memory.
func (t *Table) Has(a handle.App) bool { return len(t.of) > 0 && t.of[a] != nil }

// Best finds the node with the input of most containers of an application, of those that suit, or nothing. Of many nodes it looks at some, each time at others.
func (t *Table) Best(a handle.App, suits func(handle.Node) bool) handle.Node {
	of := t.of[a]
	if of == nil {
		return handle.NoNode
	}
	n, best := len(of.nodes), -1
	from := of.cursor
	for k := range min(n, looked) {
		i := (from + k) % n
		if of.cursor = i + 1; (best < 0 || of.nodes[i].waits > of.nodes[best].waits) && suits(of.nodes[i].node) {
			best = i
		}
	}
	if best < 0 {
		return handle.NoNode
	}
	return of.nodes[best].node
}

// Took says that a container of an application was placed on a node that its request names: it will read what is there first.
func (t *Table) Took(a handle.App, n handle.Node) {
	if of := t.of[a]; of != nil {
		if i := of.index(n); i >= 0 {
			t.Set(a, n, of.nodes[i].waits-1)
		}
	}
}

// Forget forgets an application.
func (t *Table) Forget(a handle.App) { delete(t.of, a) }

// Left forgets a node.
func (t *Table) Left(n handle.Node) {
	for a := range t.of {
		t.Set(a, n, 0)
	}
}
