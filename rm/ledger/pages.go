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
// number. That takes less time and memory than a map, and keeps them in order.
//
// freeze keeps them as they are at a moment, without copying any. From then on a page, and a container, is copied before it is changed
// for the first time: whoever changes a container that may be frozen asks mutable for it.
type Containers struct {
	pages  map[pageID]*page
	n      int
	frozen uint32 // how often freeze was called
}

const (
	pageBits = 6
	pageSize = 1 << pageBits
)

type pageID struct{ attempt, number int64 }

type page struct {
	used  uint64 // bit i: at[i] is set
	at    [pageSize]*Container
	since uint32 // Containers.frozen when it was made or copied
}

func place(id records.ContainerID) (pageID, int) {
	return pageID{int64(id.Attempt.Attempt), id.ID >> pageBits}, int(id.ID & (pageSize - 1))
}

// Len returns the number of containers.
func (c *Containers) Len() int { return c.n }

// Get returns the container with an id, or nil.
func (c *Containers) Get(id records.ContainerID) *Container {
	at, i := place(id)
	p := c.pages[at]
	if p == nil || p.at[i] == nil || p.at[i].ID != id { // the id may belong to another application
		return nil
	}
	return p.at[i]
}

// Put adds a container under its id.
func (c *Containers) Put(cont *Container) {
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
	if p.at[i] == nil {
		c.n++
	}
	p.at[i] = cont
	p.used |= 1 << i
	cont.since = c.frozen
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

// mutable returns a container that may be changed, in place of one that may be frozen. Both are the same to whoever looks them up.
func (c *Containers) mutable(cont *Container) *Container {
	if cont.since == c.frozen {
		return cont
	}
	own := *cont
	own.since = c.frozen
	at, i := place(cont.ID)
	c.mutablePage(at, c.pages[at]).at[i] = &own
	return &own
}

// freeze returns the containers as they are now. They may be read while c is changed.
func (c *Containers) freeze() Containers {
	c.frozen++
	return Containers{pages: maps.Clone(c.pages), n: c.n, frozen: c.frozen}
}

// remove removes a container.
func (c *Containers) remove(cont *Container) {
	at, i := place(cont.ID)
	p := c.pages[at]
	if p == nil || p.at[i] != cont {
		return
	}
	c.n--
	p = c.mutablePage(at, p)
	p.at[i] = nil
	p.used &^= 1 << i
	if p.used == 0 {
		delete(c.pages, at)
	}
}

// clone copies all containers, a page's in one allocation, because no command is applied meanwhile. It calls copied with each copy.
func (c *Containers) clone(copied func(*Container)) Containers {
	out := Containers{n: c.n, frozen: c.frozen}
	if len(c.pages) > 0 {
		out.pages = make(map[pageID]*page, len(c.pages))
	}
	for id, p := range c.pages {
		q := &page{used: p.used, since: c.frozen}
		piece := make([]Container, bits.OnesCount64(p.used))
		for used := p.used; used != 0; used &= used - 1 {
			i := bits.TrailingZeros64(used)
			piece[0] = *p.at[i]
			piece[0].since = c.frozen
			q.at[i] = &piece[0]
			copied(&piece[0])
			piece = piece[1:]
		}
		out.pages[id] = q
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
				if cont := p.at[bits.TrailingZeros64(used)]; cont != nil && !yield(cont) {
					return
				}
			}
		}
	}
}
