// Package ends keeps the first and the newest of many things that have ended, in little memory however many there are.
package ends

import (
	"iter"
	"slices"
)

// Max is how many are kept, to limit memory: the first ones, and as many of the newest.
const Max = 200

// Of are the first and the newest things, Max in all, in the order of their ends. The zero value has none.
//
// Owners share the arrays: a thing is only ever added behind what another one sees, and what that sees stays.
type Of[T any] struct {
	first, newest []*T
	own           int // so many of the newest ones, from the last on, no other owner has seen
}

// All are the things in the order of their ends.
func (p Of[T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, part := range [...][]*T{p.first, p.newest} {
			for _, x := range part {
				if !yield(x) {
					return
				}
			}
		}
	}
}

// Newest are the things, the last that ended first.
func (p Of[T]) Newest() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, part := range [...][]*T{p.newest, p.first} {
			for _, x := range slices.Backward(part) {
				if !yield(x) {
					return
				}
			}
		}
	}
}

// Len is the number of things that are kept.
func (p Of[T]) Len() int { return len(p.first) + len(p.newest) }

// Full reports whether one is forgotten with the next that is added.
func (p Of[T]) Full() bool { return p.Len() >= Max }

// Shared returns what is kept now, for a second owner. From now on each appends to its own arrays.
func (p *Of[T]) Shared() Of[T] {
	p.own = 0
	return Of[T]{first: slices.Clip(p.first), newest: slices.Clip(p.newest)}
}

// Add keeps what ended, and forgets the oldest of the newest if there are as many as may be. The array of the newest moves on with them: all are
// copied when it is used up, and not with each one.
func (p *Of[T]) Add(x *T) {
	switch {
	case len(p.first) < Max/2:
		p.first = append(p.first, x)
	case p.Full():
		p.newest = append(p.newest[1:], x)
	default:
		p.newest = append(p.newest, x)
	}
}

// Keep adds a copy of what ended and returns the copy, which takes the place of the one that is forgotten if no other owner
// has that: with many short lives each would be garbage soon.
func (p *Of[T]) Keep(x *T) *T {
	var place *T
	switch {
	case p.Full() && p.own == len(p.newest):
		place = p.newest[0]
	default:
		place = new(T)
		if len(p.first) == Max/2 {
			p.own++
		}
	}
	*place = *x
	p.Add(place)
	return place
}
