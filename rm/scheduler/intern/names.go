package intern

// minNames is the number of names below which forgetting some isn't worth it.
const minNames = 4096

// Names are strings by dense numbers.
type Names struct {
	of      map[string]int32
	spelled []string // by number; "" of a free one
	free    []int32
	most    int // so many names that unused ones are to be forgotten
	least   int // most is never lower
}

// NewNames returns an empty set of names.
func NewNames() Names { return Names{of: map[string]int32{}, most: minNames, least: minNames} }

// Intern returns the number of a name, a new one if need be. It is good until the name is forgotten.
func (n *Names) Intern(name string) int32 {
	if id, ok := n.of[name]; ok {
		return id
	}
	id := int32(len(n.spelled))
	if k := len(n.free); k > 0 {
		id, n.free = n.free[k-1], n.free[:k-1]
		n.spelled[id] = name
	} else {
		n.spelled = append(n.spelled, name)
	}
	n.of[name] = id
	return id
}

// Find returns the number of a name that is known.
func (n *Names) Find(name string) (id int32, ok bool) {
	id, ok = n.of[name]
	return id, ok
}

// Name returns the inverse of intern.
func (n *Names) Name(id int32) string { return n.spelled[id] }

// Len returns how many names are known, numbers how many numbers there are: all are below it.
func (n *Names) Len() int     { return len(n.of) }
func (n *Names) Numbers() int { return len(n.spelled) }

// Crowded reports whether there are twice as many names as were left when some were forgotten last.
func (n *Names) Crowded() bool { return len(n.of) > n.most }

// Forget forgets the names that aren't used, by number, and calls gone for each.
func (n *Names) Forget(used []bool, gone func(id int32)) {
	for id, name := range n.spelled {
		if held, ok := n.of[name]; used[id] || !ok || held != int32(id) {
			continue
		}
		delete(n.of, name)
		n.spelled[id] = ""
		n.free = append(n.free, int32(id))
		gone(int32(id))
	}
	n.most = max(n.least, 2*len(n.of))
}

// SetLeast sets below how many names forgetting isn't worth it, and lets the next look forget unused ones.
func (n *Names) SetLeast(least int) { n.most, n.least = 0, least }
