package drive

import (
	"slices"

	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// growths are the containers that wait for room to grow, in the order in which that was asked for. They go by the names of
// containers, as a node that moves to another rack has its containers freed and entered again.
type growths struct {
	list []growth
	at   map[records.ContainerID]scheduler.ContainerHandle // of those in list; gone: it was freed
	next int64                                             // ms: when a long list is tried again
	old  int                                               // how many of list were tried before
}

type growth struct {
	id records.ContainerID
	to records.Resource
}

const gone = scheduler.ContainerHandle(-1)

// A few growths are tried with each Step. Thousands are tried so seldom that they take a small part of the caller's time.
const (
	fewGrowths    = 256
	growthsPerLap = 200 // that are tried for each ms until the next time
)

// Grow has a container become larger as soon as its node has room for that and the maximum of its queue allows it, before
// others get something there. Step says when it has. It reports whether the container waits for that now: one that waits already,
// or has no name yet (Identify), doesn't.
func (d *Driver) Grow(h scheduler.ContainerHandle, to records.Resource) bool {
	g := &d.growing
	id := d.ContainerID(h)
	if _, waits := g.at[id]; waits || !d.containers[h].known {
		return false
	}
	g.list = append(g.list, growth{id, to})
	g.at[id] = h
	return true
}

// Growing reports whether a container waits for room to grow.
func (d *Driver) Growing(h scheduler.ContainerHandle) bool {
	if len(d.growing.at) == 0 { // as in forget
		return false
	}
	at, waits := d.growing.at[d.ContainerID(h)]
	return waits && at == h
}

// moved notes where a container is that waits for room to grow.
func (g *growths) moved(id records.ContainerID, to scheduler.ContainerHandle) {
	if _, waits := g.at[id]; waits {
		g.at[id] = to
	}
}

// grow lets those containers grow that can, and forgets those that have ended.
func (d *Driver) grow() {
	g := &d.growing
	from := 0
	if len(g.list) > fewGrowths {
		if d.now < g.next {
			from = g.old
		} else {
			g.next = d.now + int64(len(g.list)/growthsPerLap)
		}
	}
	waiting := slices.DeleteFunc(g.list[from:], func(w growth) bool {
		h := g.at[w.id]
		if h == gone {
			delete(g.at, w.id)
			return true
		}
		if !d.Of(h).ResizeContainer(h, w.to) {
			return false
		}
		delete(g.at, w.id)
		d.out = append(d.out, Decision{Kind: Grow, Container: h, App: d.containers[h].app, Resource: w.to, Priority: d.containers[h].priority})
		return true
	})
	g.list = g.list[:from+len(waiting)]
	g.old = len(g.list)
}
