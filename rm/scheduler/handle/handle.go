package handle

import (
	"iter"
	"math/bits"
)

// Node, App and Container name what the scheduler holds. They are reused after their object is gone.
type (
	Node      int32
	App       int32
	Container int32
)

// Take returns the handle of an object that was released, else of a new one, which it appends.
func Take[T any, H ~int32](all *[]T, free *[]H) H {
	if k := len(*free); k > 0 {
		h := (*free)[k-1]
		*free = (*free)[:k-1]
		return h
	}
	var zero T
	*all = append(*all, zero)
	return H(len(*all) - 1)
}

// Space gives out the handles of things that several owners hold, each in an array of its own: the same handle is never two
// things' at once. The zero value is ready.
type Space[H ~int32] struct {
	free []H
	next H
}

// Take returns the handle that was released last, else a new one.
func (s *Space[H]) Take() H {
	if k := len(s.free); k > 0 {
		h := s.free[k-1]
		s.free = s.free[:k-1]
		return h
	}
	s.next++
	return s.next - 1
}

// Give releases a handle.
func (s *Space[H]) Give(h H) { s.free = append(s.free, h) }

// Spaces are those of the things that the cores of several partitions of nodes hold.
type Spaces struct {
	Nodes      Space[Node]
	Apps       Space[App]
	Containers Space[Container]
}

// Parts is a set of partitions, by their indices. It may have more from the 63rd on than were added: these share a bit.
type Parts uint64

const manyParts = 63

// Add adds the one with an index.
func (p *Parts) Add(i int) { *p |= 1 << min(i, manyParts) }

// All goes through the indices in the set, of count partitions.
func (p Parts) All(count int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for left := p &^ (1 << manyParts); left != 0; left &= left - 1 {
			if !yield(bits.TrailingZeros64(uint64(left))) {
				return
			}
		}
		for i := manyParts; p>>manyParts != 0 && i < count; i++ {
			if !yield(i) {
				return
			}
		}
	}
}

// Fit appends what stands for nothing to an array until it has a place for a handle.
func Fit[T any, H ~int32](all []T, h H, nothing T) []T {
	for int(h) >= len(all) {
		all = append(all, nothing)
	}
	return all
}

// Handles of nothing.
const (
	NoNode      = Node(-1)
	NoApp       = App(-1)
	NoContainer = Container(-1)
)
