package ranking

import (
	"fmt"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/measure"
)

// Mask is a set of classes of asks, one bit each; see package class.
type Mask = uint64

// Nothing is the number of no element.
const Nothing = int32(-1)

// outside is the parent of an element that is in no ranking.
const outside = int32(-2)

// element stands for a queue, user, application or request in its ranking. It fills a line of the processor's cache: searches
// and moves touch elements and nothing of what they stand for.
type element struct {
	parent, left, right int32
	ref                 int32 // handle of what it stands for
	own, sub            Mask  // sub is the union of own over the subtree
	key                 Key
}

// Ranking is an ordered set of elements of one arena. Make it with New.
type Ranking struct {
	root int32
	Rule Rule // may be changed while the ranking is empty
}

// New returns an empty ranking.
func New(r Rule) Ranking { return Ranking{root: Nothing, Rule: r} }

// Clear forgets the elements of a ranking. Arena.Clear takes them out.
func (o *Ranking) Clear() { o.root = Nothing }

// Arena holds the elements of many rankings. The zero value is empty and ready.
type Arena struct {
	at     []element
	shares []measure.Shares // what keys need besides where the rule is ByDominance
	free   []int32
}

// Take returns a new element, in no ranking, that stands for a handle.
func (e *Arena) Take(ref int32) int32 {
	i := e.TakeBare(ref)
	if int(i) == len(e.shares) {
		e.shares = append(e.shares, measure.Shares{})
	}
	e.shares[i] = measure.Shares{}
	return i
}

// TakeBare is Take for an arena of which no ranking is ByDominance.
func (e *Arena) TakeBare(ref int32) int32 {
	i := handle.Take(&e.at, &e.free)
	e.at[i] = element{parent: outside, left: Nothing, right: Nothing, ref: ref}
	return i
}

// Give takes an element back that is in no ranking any more, or whose ranking was cleared.
func (e *Arena) Give(i int32) { e.free = append(e.free, i) }

// Clear takes all elements out of their rankings. They keep keys and masks.
func (e *Arena) Clear() {
	for i := range e.at {
		n := &e.at[i]
		n.parent, n.left, n.right, n.sub = outside, Nothing, Nothing, n.own
	}
}

// Ref returns the handle of what an element stands for.
func (e *Arena) Ref(i int32) int32 { return e.at[i].ref }

// Own returns the mask that was set for an element.
func (e *Arena) Own(i int32) Mask { return e.at[i].own }

// In reports whether an element is in a ranking.
func (e *Arena) In(i int32) bool { return e.at[i].parent != outside }

// Key returns the key of an element, to be read and changed in place. After a change Moved puts the element into its place. The
// pointer is good until the next Take.
func (e *Arena) Key(i int32) *Key { return &e.at[i].key }

// Shares returns what an element is ordered by besides its key where the rule is ByDominance. It may be changed as Key.
func (e *Arena) Shares(i int32) *measure.Shares { return &e.shares[i] }

// Reset gives an element a key that has nothing but its place among equals.
func (e *Arena) Reset(i int32, seq int64) { e.at[i].key, e.shares[i] = Key{Seq: seq}, measure.Shares{} }

// Offers returns the union of the masks of a ranking.
func (e *Arena) Offers(o *Ranking) Mask { return e.subOf(o.root) }

// rank decides which of two elements stands higher in a treap.
func rank(i int32) uint32 {
	x := uint64(i)*0x9e3779b97f4a7c15 + 0x1b873593
	x ^= x >> 31
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 29
	return uint32(x >> 16)
}

func (e *Arena) subOf(i int32) Mask {
	if i == Nothing {
		return 0
	}
	return e.at[i].sub
}

// sum recomputes the union of one element and reports whether it changed.
func (e *Arena) sum(i int32) bool {
	n := &e.at[i]
	sub := n.own | e.subOf(n.left) | e.subOf(n.right)
	changed := sub != n.sub
	n.sub = sub
	return changed
}

// SetMask changes what an element offers, and reports whether that is a change.
func (e *Arena) SetMask(i int32, own Mask) bool {
	n := &e.at[i]
	if n.own == own {
		return false
	}
	n.own = own
	if n.parent == outside {
		return true
	}
	for i != Nothing && e.sum(i) {
		i = e.at[i].parent
	}
	return true
}

// Check looks for an element that stands in the wrong place, or hides what is offered below it.
func (e *Arena) Check(o *Ranking) (err error) {
	last := Nothing
	e.All(o, func(i int32) bool {
		if last != Nothing && !e.Less(o.Rule, last, i) {
			err = fmt.Errorf("%d stands before %d", e.at[last].ref, e.at[i].ref)
			return false
		}
		if n := &e.at[i]; n.sub != n.own|e.subOf(n.left)|e.subOf(n.right) {
			err = fmt.Errorf("%d shows %b and hides what is below it", n.ref, n.sub)
			return false
		}
		last = i
		return true
	})
	return err
}
