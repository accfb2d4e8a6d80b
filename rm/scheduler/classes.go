package scheduler

import (
	"math/bits"

	"heddle/yarn/records"
)

// sharedClass stands for all capabilities that found no bit of their own. It is never closed; demands of it that can't be
// placed are parked one by one.
const sharedClass = 63

// tight is a bit among those of the classes that a queue has while it, or one below it, has an ask that is larger than what
// it can still have by its own maximum.
const tight = mask(1) << (sharedClass - 1)

// classes gives each capability that is asked for a bit of a mask. Asks of one class fit on the same nodes and below the
// same limits, so that whole subtrees of queues are passed over when none of what is asked for in them has room.
type classes struct {
	of      map[records.Resource]uint8
	size    [sharedClass]records.Resource // as it is measured on nodes
	full    [sharedClass]records.Resource // as it is asked for
	demands [sharedClass]int32
	taken   mask
	open    mask // classes that some node may have room for
}

func newClasses() classes { return classes{of: map[records.Resource]uint8{}, open: 1 << sharedClass} }

// hold returns the class of a capability, and counts one more demand of it.
func (c *classes) hold(capability, size records.Resource) uint8 {
	if i, ok := c.of[capability]; ok {
		c.demands[i]++
		return i
	}
	i := uint8(bits.TrailingZeros64(^c.taken))
	if i >= sharedClass-1 {
		return sharedClass
	}
	c.of[capability] = i
	c.taken |= 1 << i
	c.open |= 1 << i
	c.size[i], c.full[i], c.demands[i] = size, capability, 1
	return i
}

// drop counts one demand less of a class.
func (c *classes) drop(i uint8) {
	if i == sharedClass {
		return
	}
	if c.demands[i]--; c.demands[i] > 0 {
		return
	}
	delete(c.of, c.full[i])
	c.taken &^= 1 << i
	c.open &^= 1 << i
}

// shut closes the classes that are not smaller than an amount.
func (c *classes) shut(least *records.Resource) {
	for m := c.open &^ (1 << sharedClass); m != 0; m &= m - 1 {
		if i := bits.TrailingZeros64(m); fitsIn(least, &c.size[i]) {
			c.open &^= 1 << i
		}
	}
}

// room opens the classes that fit into what a node has free.
func (c *classes) room(free *records.Resource) {
	for m := c.taken &^ c.open; m != 0; m &= m - 1 {
		if i := bits.TrailingZeros64(m); fitsIn(&c.size[i], free) {
			c.open |= 1 << i
		}
	}
}

// fitsIn is Resource.FitsIn without copies.
func fitsIn(need, in *records.Resource) bool {
	for i := range need {
		if need[i] > in[i] {
			return false
		}
	}
	return true
}
