package class

import (
	"math/bits"

	"heddle/rm/scheduler/ranking"
	"heddle/yarn/records"
)

// Shared is the class of all capabilities that found no bit of their own. It is never closed. The scheduler parks its
// demands one by one when they can't be placed.
const Shared = 63

// Tight is a bit beside those of the classes. A queue has it while it, or one below it, has an ask that is larger than
// what that queue's own maximum leaves.
const Tight = ranking.Mask(1) << (Shared - 1)

// Table is the classes that there are, and which of them may have room. Make it with New.
type Table struct {
	of      map[records.Resource]uint8
	guests  map[records.Resource]uint8
	size    [Shared]records.Resource // as it is measured on nodes
	full    [Shared]records.Resource // as it is asked for
	demands [Shared]int32
	shared  int32 // demands of the class Shared
	taken   ranking.Mask
	guest   ranking.Mask // classes of guests
	open    ranking.Mask // classes that some node may have room for
}

// New returns a table without classes.
func New() Table { return Table{of: map[records.Resource]uint8{}, open: 1 << Shared} }

// Hold returns the class of a capability, and counts one more demand of it.
func (c *Table) Hold(capability, size records.Resource) uint8 {
	return c.hold(c.of, capability, size)
}

// HoldGuest is Hold for what applications ask for in another partition, whose classes are their own. Where these are used up, they have the
// class Shared, and can't be told apart any more.
func (c *Table) HoldGuest(capability, size records.Resource) uint8 {
	if c.guests == nil {
		c.guests = map[records.Resource]uint8{}
	}
	i := c.hold(c.guests, capability, size)
	if i != Shared {
		c.guest |= 1 << i
	}
	return i
}

func (c *Table) hold(of map[records.Resource]uint8, capability, size records.Resource) uint8 {
	if i, ok := of[capability]; ok {
		c.demands[i]++
		return i
	}
	i := uint8(bits.TrailingZeros64(^c.taken))
	if i >= Shared-1 {
		c.shared++
		return Shared
	}
	of[capability] = i
	c.taken |= 1 << i
	c.open |= 1 << i
	c.size[i], c.full[i], c.demands[i] = size, capability, 1
	return i
}

// Drop counts one demand less of a class.
func (c *Table) Drop(i uint8) {
	if i == Shared {
		c.shared--
		return
	}
	if c.demands[i]--; c.demands[i] > 0 {
		return
	}
	if c.guest&(1<<i) != 0 {
		delete(c.guests, c.full[i])
	} else {
		delete(c.of, c.full[i])
	}
	c.guest &^= 1 << i
	c.taken &^= 1 << i
	c.open &^= 1 << i
}

// Opened returns the classes that some node may have room for: an upper bound.
func (c *Table) Opened() ranking.Mask { return c.open }

// Guests returns the classes of what applications ask for in another partition.
func (c *Table) Guests() ranking.Mask { return c.guest }

// Taken returns the classes that are asked for, without Shared.
func (c *Table) Taken() ranking.Mask { return c.taken }

// Some reports whether a capability that is asked for meets a condition. Where capabilities share a class, one of them may.
func (c *Table) Some(meets func(capability *records.Resource) bool) bool {
	for m := c.taken; m != 0; m &= m - 1 {
		if meets(&c.full[bits.TrailingZeros64(m)]) {
			return true
		}
	}
	return c.shared > 0
}

// Size returns the amount of a class as it is measured on nodes. It is not to be changed.
func (c *Table) Size(i int) *records.Resource { return &c.size[i] }

// Close notes that no node has room for a class.
func (c *Table) Close(i uint8) { c.open &^= 1 << i }

// CloseFrom closes the classes that are not smaller than an amount.
func (c *Table) CloseFrom(smallest *records.Resource) {
	for m := c.open &^ (1 << Shared); m != 0; m &= m - 1 {
		if i := bits.TrailingZeros64(m); fitsIn(smallest, &c.size[i]) {
			c.open &^= 1 << i
		}
	}
}

// Open opens the classes that fit into what a node has free.
func (c *Table) Open(free *records.Resource) {
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
