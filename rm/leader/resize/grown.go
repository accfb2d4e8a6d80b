package resize

import (
	"time"

	"heddle/yarn/records"
)

// grown is a container that was given more, of which its node must know by a deadline.
type grown struct {
	id       records.ContainerID
	deadline time.Time
}

// grownList are such containers, by the deadline; further counts how often each is among them.
type grownList struct {
	list    []grown
	further map[records.ContainerID]int
}

func (g *grownList) add(id records.ContainerID, deadline time.Time) {
	if g.further == nil {
		g.further = map[records.ContainerID]int{}
	}
	g.further[id]++
	g.list = append(g.list, grown{id, deadline})
}

// due takes out those whose time is up and has not begun again since.
func (g *grownList) due(now time.Time) (ids []records.ContainerID) {
	n := 0
	for ; n < len(g.list) && now.After(g.list[n].deadline); n++ {
		id := g.list[n].id
		if g.further[id]--; g.further[id] == 0 {
			delete(g.further, id)
			ids = append(ids, id)
		}
	}
	g.list = append(g.list[:0], g.list[n:]...)
	return ids
}
