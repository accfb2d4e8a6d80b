package ledger

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"

	"heddle/yarn/records"
)

// Containers are those of one application, by id. The zero value has none.
//
// Ids are handed out in a row, and containers that are there at the same time mostly have ids near each other. So they are in pages by
// their numbers, which takes less time and memory than a map of single ones, and keeps them in order.
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
	used uint64 // bit i: at[i] is there
	at   [pageSize]*Container
}

func place(id records.ContainerID) (pageID, int) {
	return pageID{int64(id.Attempt.Attempt), id.ID >> pageBits}, int(id.ID & (pageSize - 1))
}

// Len is their number.
func (c *Containers) Len() int { return c.n }

// Get returns the container of an id, or nil.
func (c *Containers) Get(id records.ContainerID) *Container {
	at, i := place(id)
	p := c.pages[at]
	if p == nil || p.at[i] == nil || p.at[i].ID != id { // the id may be another application's
		return nil
	}
	return p.at[i]
}

// Put files a container under its id.
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

// remove takes a container out.
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

// clone copies all containers, those of a page in one piece, as nothing is applied meanwhile. copied is told of each copy.
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

// All goes through them in the order of their ids. Any may be taken out meanwhile.
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
