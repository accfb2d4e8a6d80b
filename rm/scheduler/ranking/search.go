package ranking

// First returns the first element of a ranking that has a class of open, or Nothing.
func (e *Arena) First(o *Ranking, open Mask) int32 { return e.firstBelow(o.root, open) }

func (e *Arena) firstBelow(i int32, open Mask) int32 {
	if i == Nothing || e.at[i].sub&open == 0 {
		return Nothing
	}
	for {
		n := &e.at[i]
		switch {
		case n.left != Nothing && e.at[n.left].sub&open != 0:
			i = n.left
		case n.own&open != 0:
			return i
		default:
			i = n.right
		}
	}
}

// FirstBehind returns the first element of a ranking that stands behind one of any ranking of the same rule, and has a class of
// open, or Nothing.
func (e *Arena) FirstBehind(o *Ranking, after int32, open Mask) int32 {
	return e.firstBehind(o.Rule, o.root, after, open)
}

func (e *Arena) firstBehind(r Rule, i, after int32, open Mask) int32 {
	if i == Nothing || e.at[i].sub&open == 0 {
		return Nothing
	}
	if !e.Less(r, after, i) {
		return e.firstBehind(r, e.at[i].right, after, open)
	}
	if f := e.firstBehind(r, e.at[i].left, after, open); f != Nothing {
		return f
	}
	if e.at[i].own&open != 0 {
		return i
	}
	return e.firstBelow(e.at[i].right, open)
}

// Next returns the first element behind one that has a class of open, or Nothing.
func (e *Arena) Next(i int32, open Mask) int32 {
	if f := e.firstBelow(e.at[i].right, open); f != Nothing {
		return f
	}
	for {
		p := e.at[i].parent
		if p == Nothing {
			return Nothing
		}
		if e.at[p].left == i {
			if e.at[p].own&open != 0 {
				return p
			}
			if f := e.firstBelow(e.at[p].right, open); f != Nothing {
				return f
			}
		}
		i = p
	}
}

// before returns the neighbour before an element, whatever it offers.
func (e *Arena) before(i int32) int32 {
	if l := e.at[i].left; l != Nothing {
		for e.at[l].right != Nothing {
			l = e.at[l].right
		}
		return l
	}
	for {
		p := e.at[i].parent
		if p == Nothing || e.at[p].right == i {
			return p
		}
		i = p
	}
}

// After returns the neighbour behind an element, whatever it offers.
func (e *Arena) After(i int32) int32 {
	if r := e.at[i].right; r != Nothing {
		for e.at[r].left != Nothing {
			r = e.at[r].left
		}
		return r
	}
	for {
		p := e.at[i].parent
		if p == Nothing || e.at[p].left == i {
			return p
		}
		i = p
	}
}

// Search returns the element for which compare returns 0, or Nothing. compare is above 0 for the elements behind that one.
func (e *Arena) Search(o *Ranking, compare func(i int32) int) int32 {
	for i := o.root; i != Nothing; {
		switch c := compare(i); {
		case c == 0:
			return i
		case c > 0:
			i = e.at[i].left
		default:
			i = e.at[i].right
		}
	}
	return Nothing
}

// All calls f for the elements of a ranking, in ranking, until it returns false.
func (e *Arena) All(o *Ranking, f func(i int32) bool) {
	for i := e.Front(o); i != Nothing && f(i); {
		i = e.After(i)
	}
}

// Front returns the first element of a ranking, whatever it offers, or Nothing.
func (e *Arena) Front(o *Ranking) int32 {
	i := o.root
	for i != Nothing && e.at[i].left != Nothing {
		i = e.at[i].left
	}
	return i
}
