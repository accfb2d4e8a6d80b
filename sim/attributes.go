package sim

// Attribute is one of some hosts, which placement constraints of stages name.
type Attribute struct {
	Name  string // with its prefix, such as rm.yarn.io/gpu
	Value string
	Nodes int // how many of the last nodes have it
}

// attributes returns those of a node.
func (n *Nodes) attributes(i int) map[string]string {
	of := map[string]string{}
	for _, a := range n.Attributes {
		if i >= n.Count-a.Nodes {
			of[a.Name] = a.Value
		}
	}
	return of
}
