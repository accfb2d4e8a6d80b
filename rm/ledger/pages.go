package ledger

import (
	"cmp"
	"iter"
	"maps"
	"math/bits"
	"slices"

	"heddle/yarn/records"
)

// Containers holds the containers of one application, by id. The zero value is empty.
//
// Ids are issued in sequence, and containers that live at the same time mostly have ids near each other. So Containers keeps them in pages by
// number. That takes less time and memory than a map, and keeps them in order. A page holds the containers themselves, not pointers to them:
// the collector of garbage then looks at one object where it would look at many, all over the memory.
//
// freeze keeps them as they are at a moment, without copying any. From then on a page is copied before it is changed for the first
// time: code that changes a container that may be frozen gets it from mutable.
type Containers struct {
	pages  map[pageID]*page
	n      int
	frozen uint32 // how often freeze was called
}

// A page is small, as it stays until the last of its containers is removed.
const (
	pageBits = 3
	pageSize = 1 << pageBits
)

type pageID struct{ attempt, number int64 }

type page struct {
	used  uint8  // bit i: at[i] is a container
	since uint32 // Containers.frozen when it was made or copied
	at    [pageSize]Container
}

func place(id records.ContainerID) (pageID, int) {
	return pageID{int64(id.Attempt.Attempt), id.ID >> pageBits}, int(id.ID & (pageSize - 1))
}

// has reports whether the container with an id is at its place i. The id may belong to another application.
func (p *page) has(i int, id records.ContainerID) bool {
	return p != nil && p.used&(1<<i) != 0 && p.at[i].ID == id
}

// Len returns the number of containers.
func (c *Containers) Len() int { return c.n }

// Get returns the container with an id, or nil. It is the same one until it is removed or a frozen page is changed; after its removal it can
// still be read.
func (c *Containers) Get(id records.ContainerID) *Container {
	at, i := place(id)
	if p := c.pages[at]; p.has(i, id) {
		return &p.at[i]
	}
	return nil
}

// Put adds a copy of a container under its id, and returns the copy.
func (c *Containers) Put(cont *Container) *Container {
	at, i := place(cont.ID)
	p := c.pages[at]
	if p == nil {
		if c.pages == nil {
			c.pages = map[pageID]*page{}
		}
		p = &page{since: c.frozen}
		c.pages[at] = p
	}
	p = c.mutablePage(at, p)
	if p.used&(1<<i) == 0 {
		c.n++
	}
	p.at[i] = *cont
	p.used |= 1 << i
	return &p.at[i]
}

// mutablePage returns a page that may be changed, in place of one that may be frozen.
func (c *Containers) mutablePage(at pageID, p *page) *page {
	if p.since != c.frozen {
		q := *p
		p, q.since = &q, c.frozen
		c.pages[at] = p
	}
	return p
}

// mutable returns the container with an id, which may be changed then, or nil. It may be another one than Get returned before.
func (c *Containers) mutable(id records.ContainerID) *Container {
	at, i := place(id)
	p := c.pages[at]
	if !p.has(i, id) {
		return nil
	}
	return &c.mutablePage(at, p).at[i]
}

// freeze returns the containers as they are now. They may be read while c is changed.
func (c *Containers) freeze() Containers {
	c.frozen++
	return Containers{pages: maps.Clone(c.pages), n: c.n, frozen: c.frozen}
}

// remove removes the container with an id, if there is one.
func (c *Containers) remove(id records.ContainerID) {
	at, i := place(id)
	p := c.pages[at]
	if !p.has(i, id) {
		return
	}
	c.n--
	p = c.mutablePage(at, p)
	p.used &^= 1 << i
	if p.used == 0 {
		delete(c.pages, at)
	}
}

// clone copies all containers, because no command is applied meanwhile. It calls copied with each copy.
func (c *Containers) clone(copied func(*Container)) Containers {
	out := Containers{n: c.n, frozen: c.frozen}
	if len(c.pages) > 0 {
		out.pages = make(map[pageID]*page, len(c.pages))
	}
	for id, p := range c.pages {
		q := *p
		q.since = c.frozen
		for used := q.used; used != 0; used &= used - 1 {
			copied(&q.at[bits.TrailingZeros8(used)])
		}
		out.pages[id] = &q
	}
	return out
}

// All iterates over the containers in the order of their ids. The loop may remove any of them.
func (c *Containers) All() iter.Seq[*Container] {
	return func(yield func(*Container) bool) {
		at := make([]pageID, 0, len(c.pages))
		for id := range c.pages {
			at = append(at, id)
		}
		slices.SortFunc(at, func(a, b pageID) int {
			return cmp.Or(cmp.Compare(a.attempt, b.attempt), cmp.Compare(a.number, b.number))
		})
		for _, id := range at {
			p := c.pages[id]
			if p == nil {
				continue
			}
			for used := p.used; used != 0; used &= used - 1 {
				if p = c.pages[id]; p == nil { // the loop may have changed another copy of it
					break
				}
				if i := bits.TrailingZeros8(used); p.used&(1<<i) != 0 && !yield(&p.at[i]) {
					return
				}
			}
		}
	}
}
