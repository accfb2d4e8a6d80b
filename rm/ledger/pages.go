package ledger

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"

	"heddle/yarn/records"
)

// Containers holds the containers of one application, by id. The zero value is empty.
//
// Ids are issued in sequence, and containers that live at the same time mostly have ids near each other. So Containers keeps them in pages by
// number. That takes less time and memory than a map, and keeps them in order.
type Containers struct {
	pages map[pageID]*page
	n     int
}

const (
	pageBits = 6
	pageSize = 1 << pageBits
)

type pageID struct{ attempt, number int64 }

type page struct {
	used uint64 // bit i: at[i] is set
	at   [pageSize]*Container
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
		p = &page{}
		c.pages[at] = p
	}
	if p.at[i] == nil {
		c.n++
	}
	p.at[i] = cont
	p.used |= 1 << i
}

// remove removes a container.
func (c *Containers) remove(cont *Container) {
	at, i := place(cont.ID)
	p := c.pages[at]
	if p == nil || p.at[i] != cont {
		return
	}
	c.n--
	p.at[i] = nil
	p.used &^= 1 << i
	if p.used == 0 {
		delete(c.pages, at)
	}
}

// clone copies all containers, a page's in one allocation, because no command is applied meanwhile. It calls copied with each copy.
func (c *Containers) clone(copied func(*Container)) Containers {
	out := Containers{n: c.n}
	if len(c.pages) > 0 {
		out.pages = make(map[pageID]*page, len(c.pages))
	}
	for id, p := range c.pages {
		q := &page{used: p.used}
		piece := make([]Container, bits.OnesCount64(p.used))
		for used := p.used; used != 0; used &= used - 1 {
			i := bits.TrailingZeros64(used)
			piece[0] = *p.at[i]
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
				if cont := p.at[bits.TrailingZeros64(used)]; cont != nil && !yield(cont) {
					return
				}
			}
		}
	}
}
