package ranking

// hang links an element, or Nothing, below a parent, or at the top of a ranking.
func (e *Arena) hang(o *Ranking, parent int32, left bool, i int32) {
	switch {
	case parent == Nothing:
		o.root = i
	case left:
		e.at[parent].left = i
	default:
		e.at[parent].right = i
	}
	if i != Nothing {
		e.at[i].parent = parent
	}
}

// sumTo recomputes unions from an element up to one above it, which is left out.
func (e *Arena) sumTo(i, top int32) {
	for ; i != top; i = e.at[i].parent {
		e.sum(i)
	}
}

// Enter puts an element into its place in a ranking: below those of higher rank. The former subtree there is divided by it.
func (e *Arena) Enter(o *Ranking, i int32) {
	own, mine := e.at[i].own, rank(i)
	parent, left, at := Nothing, false, o.root
	for at != Nothing && rank(at) >= mine {
		n := &e.at[at]
		n.sub |= own
		parent, left = at, e.Less(o.Rule, i, at)
		at = n.right
		if left {
			at = n.left
		}
	}
	e.hang(o, parent, left, i)
	e.at[i].left, e.at[i].right = Nothing, Nothing
	if at != Nothing {
		e.divide(o, i, at)
	}
	e.sum(i)
}

// divide hangs those of a subtree that stand before an element on its left, and the others on its right.
func (e *Arena) divide(o *Ranking, i, at int32) {
	before, behind := i, i // where the next ones are hung, on the side that is turned to i
	for at != Nothing {
		if e.Less(o.Rule, i, at) {
			e.hang(o, behind, behind != i, at)
			behind, at = at, e.at[at].left
		} else {
			e.hang(o, before, before == i, at)
			before, at = at, e.at[at].right
		}
	}
	e.hang(o, behind, behind != i, Nothing)
	e.hang(o, before, before == i, Nothing)
	e.sumTo(behind, i)
	e.sumTo(before, i)
}

// Leave takes an element out of its ranking, and merges those on its left with those on its right. Its key may have changed
// already.
func (e *Arena) Leave(o *Ranking, i int32) {
	n := &e.at[i]
	above, l, r := n.parent, n.left, n.right
	parent, left := above, above != Nothing && e.at[above].left == i
	for l != Nothing && r != Nothing {
		if rank(l) > rank(r) {
			e.hang(o, parent, left, l)
			parent, left, l = l, false, e.at[l].right
		} else {
			e.hang(o, parent, left, r)
			parent, left, r = r, true, e.at[r].left
		}
	}
	e.hang(o, parent, left, max(l, r)) // Nothing is less than any
	n.parent = outside
	e.sumTo(parent, above)
	for above != Nothing && e.sum(above) {
		above = e.at[above].parent
	}
}

// Moved puts an element whose key has changed into its place. Mostly it is there already.
func (e *Arena) Moved(o *Ranking, i int32) {
	if p := e.before(i); p == Nothing || e.Less(o.Rule, p, i) {
		if n := e.After(i); n == Nothing || e.Less(o.Rule, i, n) {
			return
		}
	}
	e.Leave(o, i)
	e.Enter(o, i)
}
