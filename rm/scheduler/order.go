package scheduler

// mask is a set of classes of asks, one bit each; see classes.
type mask = uint64

// nothing is a link to no element, outside the parent of an element that is in no order.
const (
	nothing = int32(-1)
	outside = int32(-2)
)

// element is a queue, user or application in its order. own is an upper bound of the classes that are pending in it and not
// held by a limit of its own; sub is the union over the subtree. It fills a line of the processor's cache: searches and
// moves touch elements and nothing of what they stand for.
type element struct {
	parent, left, right int32
	ref                 int32 // handle of what it stands for
	own, sub            mask
	key                 key
}

func (n *element) in() bool { return n.parent != outside }

// order is an ordered set of elements (children of a queue, users of a leaf, applications of a user, demands of an application): the
// root of a treap.
// Orders share one arena; ranks come from the elements' numbers, so that the shape depends on nothing but the history.
type order struct {
	root int32
	rule rule
}

// elements is the arena of all orders.
type elements struct {
	at     []element
	shares []shares // what keys need besides where the rule is byDominance
	free   []int32
}

func (e *elements) take(ref int32) int32 {
	i := e.takeBare(ref)
	if int(i) == len(e.shares) {
		e.shares = append(e.shares, shares{})
	}
	e.shares[i] = shares{}
	return i
}

// takeBare is take for an arena of which no order is byDominance.
func (e *elements) takeBare(ref int32) int32 {
	i := take(&e.at, &e.free)
	e.at[i] = element{parent: outside, left: nothing, right: nothing, ref: ref}
	return i
}

// rank decides which of two elements stands higher in a treap.
func rank(i int32) uint32 {
	x := uint64(i)*0x9e3779b97f4a7c15 + 0x1b873593
	x ^= x >> 31
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 29
	return uint32(x >> 16)
}

func (e *elements) give(i int32) { e.free = append(e.free, i) }

func (e *elements) subOf(i int32) mask {
	if i == nothing {
		return 0
	}
	return e.at[i].sub
}

// sum recomputes the union of one element and reports whether it changed.
func (e *elements) sum(i int32) bool {
	n := &e.at[i]
	sub := n.own | e.subOf(n.left) | e.subOf(n.right)
	changed := sub != n.sub
	n.sub = sub
	return changed
}

// setMask changes what an element has to offer, and reports whether that is a change.
func (e *elements) setMask(i int32, own mask) bool {
	n := &e.at[i]
	if n.own == own {
		return false
	}
	n.own = own
	if !n.in() {
		return true
	}
	for i != nothing && e.sum(i) {
		i = e.at[i].parent
	}
	return true
}

// hang links an element, or nothing, below a parent, or at the top of an order.
func (e *elements) hang(o *order, parent int32, left bool, i int32) {
	switch {
	case parent == nothing:
		o.root = i
	case left:
		e.at[parent].left = i
	default:
		e.at[parent].right = i
	}
	if i != nothing {
		e.at[i].parent = parent
	}
}

// sumTo recomputes unions from an element up to one above it, which is left out.
func (e *elements) sumTo(i, top int32) {
	for ; i != top; i = e.at[i].parent {
		e.sum(i)
	}
}

// first returns the first element of an order that has a class of open, or nothing.
func (e *elements) first(o *order, open mask) int32 { return e.firstBelow(o.root, open) }

func (e *elements) firstBelow(i int32, open mask) int32 {
	if i == nothing || e.at[i].sub&open == 0 {
		return nothing
	}
	for {
		n := &e.at[i]
		switch {
		case n.left != nothing && e.at[n.left].sub&open != 0:
			i = n.left
		case n.own&open != 0:
			return i
		default:
			i = n.right
		}
	}
}

// firstBehind returns the first element of a subtree that stands behind one, of whichever order of that rule, and has a class of open,
// or nothing.
func (e *elements) firstBehind(r rule, i, after int32, open mask) int32 {
	if i == nothing || e.at[i].sub&open == 0 {
		return nothing
	}
	if !e.less(r, after, i) {
		return e.firstBehind(r, e.at[i].right, after, open)
	}
	if f := e.firstBehind(r, e.at[i].left, after, open); f != nothing {
		return f
	}
	if e.at[i].own&open != 0 {
		return i
	}
	return e.firstBelow(e.at[i].right, open)
}

// next returns the first element behind one that has a class of open, or nothing.
func (e *elements) next(i int32, open mask) int32 {
	if f := e.firstBelow(e.at[i].right, open); f != nothing {
		return f
	}
	for {
		p := e.at[i].parent
		if p == nothing {
			return nothing
		}
		if e.at[p].left == i {
			if e.at[p].own&open != 0 {
				return p
			}
			if f := e.firstBelow(e.at[p].right, open); f != nothing {
				return f
			}
		}
		i = p
	}
}

// before returns the neighbour before an element, whatever it offers.
func (e *elements) before(i int32) int32 {
	if l := e.at[i].left; l != nothing {
		for e.at[l].right != nothing {
			l = e.at[l].right
		}
		return l
	}
	for {
		p := e.at[i].parent
		if p == nothing || e.at[p].right == i {
			return p
		}
		i = p
	}
}

// behind returns the neighbour behind an element, whatever it offers.
func (e *elements) behind(i int32) int32 {
	if r := e.at[i].right; r != nothing {
		for e.at[r].left != nothing {
			r = e.at[r].left
		}
		return r
	}
	for {
		p := e.at[i].parent
		if p == nothing || e.at[p].left == i {
			return p
		}
		i = p
	}
}

// enter puts an element into its place in an order: below those of higher rank. What stood there is divided by it.
func (e *elements) enter(o *order, i int32) {
	own, mine := e.at[i].own, rank(i)
	parent, left, at := nothing, false, o.root
	for at != nothing && rank(at) >= mine {
		n := &e.at[at]
		n.sub |= own
		parent, left = at, e.less(o.rule, i, at)
		at = n.right
		if left {
			at = n.left
		}
	}
	e.hang(o, parent, left, i)
	e.at[i].left, e.at[i].right = nothing, nothing
	if at != nothing {
		e.divide(o, i, at)
	}
	e.sum(i)
}

// divide hangs those of a subtree that stand before an element on its left, and the others on its right.
func (e *elements) divide(o *order, i, at int32) {
	before, behind := i, i // where the next ones are hung, on the side that is turned to i
	for at != nothing {
		if e.less(o.rule, i, at) {
			e.hang(o, behind, behind != i, at)
			behind, at = at, e.at[at].left
		} else {
			e.hang(o, before, before == i, at)
			before, at = at, e.at[at].right
		}
	}
	e.hang(o, behind, behind != i, nothing)
	e.hang(o, before, before == i, nothing)
	e.sumTo(behind, i)
	e.sumTo(before, i)
}

// leave takes an element out of its order, and merges those on its left with those on its right. Its key may have changed
// already.
func (e *elements) leave(o *order, i int32) {
	n := &e.at[i]
	above, l, r := n.parent, n.left, n.right
	parent, left := above, above != nothing && e.at[above].left == i
	for l != nothing && r != nothing {
		if rank(l) > rank(r) {
			e.hang(o, parent, left, l)
			parent, left, l = l, false, e.at[l].right
		} else {
			e.hang(o, parent, left, r)
			parent, left, r = r, true, e.at[r].left
		}
	}
	e.hang(o, parent, left, max(l, r)) // nothing is less than any
	n.parent = outside
	e.sumTo(parent, above)
	for above != nothing && e.sum(above) {
		above = e.at[above].parent
	}
}

// moved puts an element whose key has changed into its place. Mostly it is there already.
func (e *elements) moved(o *order, i int32) {
	if p := e.before(i); p == nothing || e.less(o.rule, p, i) {
		if n := e.behind(i); n == nothing || e.less(o.rule, i, n) {
			return
		}
	}
	e.leave(o, i)
	e.enter(o, i)
}

// all calls f for the elements of an order, in order, until it returns false.
func (e *elements) all(o *order, f func(i int32) bool) {
	for i := e.least(o); i != nothing && f(i); {
		i = e.behind(i)
	}
}

// least is the first element of an order, whatever it offers, or nothing.
func (e *elements) least(o *order) int32 {
	i := o.root
	for i != nothing && e.at[i].left != nothing {
		i = e.at[i].left
	}
	return i
}
