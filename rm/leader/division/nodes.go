package division

import (
	"cmp"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/policy/partition"
	"heddle/yarn/records"
)

// Work of asks: long tasks are a kind of their own, to which nodes of the short partition are closed.
const (
	ShortWork scheduler.Work = 0
	LongWork  scheduler.Work = 1
)

// Mark says of what kind an application's asks are.
func Mark(asks []scheduler.Ask, long bool) {
	if !long {
		return
	}
	for i := range asks {
		asks[i].Work = LongWork
	}
}

// Nodes are divided between a short partition, which is closed to long work, and a general one, of which Dice closes a part for a window. The short
// partition is those nodes whose ids have the lowest hashes: so every leader finds the same ones, and a node that comes or goes moves one other at most.
//
// Methods are the loop's, but for Waited and Place, which may be called from any goroutine.
type Nodes struct {
	settings Settings

	// The loop changes these with places locked, and reads them without.
	places sync.RWMutex
	order  []ranked                // by hash
	short  int                     // how many of these, from the first one, are the short partition
	closed map[records.NodeID]bool // by Dice
	asked  map[records.NodeID]bool // by Dice, to suspend a long task if short ones wait there

	mu    sync.Mutex
	sizer *partition.Sizer // nil: without Dice
}

// Place is what a node is for.
type Place struct {
	Short  bool // it is of the short partition
	Closed bool // Dice has closed it to long tasks in this window
	Asked  bool // Dice has asked it, in this window, to suspend a long task if short ones wait there
}

type ranked struct {
	hash uint64
	id   records.NodeID
}

func rank(id records.NodeID) ranked {
	h := fnv.New64a()
	h.Write([]byte(id.String()))
	x := h.Sum64() // its high bits hardly depend on the last letters, by which ids often differ
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return ranked{x, id}
}

func (a ranked) compare(b ranked) int {
	return cmp.Or(cmp.Compare(a.hash, b.hash), a.id.Compare(b.id))
}

// NewNodes returns a division without nodes, at a time of the clock that Tick is told.
func NewNodes(s Settings, now time.Duration) *Nodes {
	d := &Nodes{settings: s}
	if s.On() && s.Dice != nil {
		d.sizer = partition.NewSizer(s.Settings, now)
	}
	return d
}

// Works are the kinds of work to which a node is open.
func (d *Nodes) Works(id records.NodeID) scheduler.Works {
	if d.closed[id] || d.isShort(id) {
		return scheduler.AllWork &^ scheduler.WorkOf(LongWork)
	}
	return scheduler.AllWork
}

func (d *Nodes) isShort(id records.NodeID) bool {
	i, found := slices.BinarySearchFunc(d.order, rank(id), ranked.compare)
	return found && i < d.short
}

// Add enters a node, and returns the nodes whose Works may have changed.
func (d *Nodes) Add(id records.NodeID) []records.NodeID {
	if !d.settings.On() || d.settings.Short <= 0 && d.sizer == nil {
		return nil
	}
	d.places.Lock()
	defer d.places.Unlock()
	r := rank(id)
	if i, found := slices.BinarySearchFunc(d.order, r, ranked.compare); !found {
		d.order = slices.Insert(d.order, i, r)
	}
	return d.resize()
}

// Remove forgets a node, and returns the nodes whose Works may have changed.
func (d *Nodes) Remove(id records.NodeID) []records.NodeID {
	d.places.Lock()
	defer d.places.Unlock()
	delete(d.closed, id)
	delete(d.asked, id)
	if i, found := slices.BinarySearchFunc(d.order, rank(id), ranked.compare); found {
		d.order = slices.Delete(d.order, i, i+1)
	}
	return d.resize()
}

// resize returns the nodes at the partition's edge.
func (d *Nodes) resize() (changed []records.NodeID) {
	before := d.short
	d.short = d.settings.Size(len(d.order))
	for i := max(0, min(before, d.short)-1); i < min(len(d.order), max(before, d.short)+1); i++ {
		changed = append(changed, d.order[i].id)
	}
	return changed
}

// Waited says that so many short tasks started after so long a wait, in all.
func (d *Nodes) Waited(sum time.Duration, tasks int64) {
	if d.sizer == nil || tasks <= 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sizer.Waited(sum/time.Duration(tasks), int(tasks))
}

// Tick ends a window of Dice when it is time, and returns the nodes whose Works may have changed. Random returns a number below its argument.
func (d *Nodes) Tick(now time.Duration, random func(below int) int) []records.NodeID {
	if d.sizer == nil {
		return nil
	}
	d.mu.Lock()
	if now < d.sizer.Ends() {
		d.mu.Unlock()
		return nil
	}
	plan := d.sizer.Next(now, len(d.order))
	d.mu.Unlock()
	d.places.Lock()
	defer d.places.Unlock()
	var changed []records.NodeID
	draw := func(before map[records.NodeID]bool, n int) (now map[records.NodeID]bool) {
		for id := range before {
			changed = append(changed, id)
		}
		now = map[records.NodeID]bool{}
		for _, r := range partition.Draw(slices.Clone(d.order[d.short:]), n, random) {
			now[r.id] = true
			changed = append(changed, r.id)
		}
		return now
	}
	d.closed = draw(d.closed, plan.Closed)
	d.asked = draw(d.asked, plan.Requests)
	slices.SortFunc(changed, records.NodeID.Compare)
	return slices.Compact(changed)
}

// Asked reports whether a node is to suspend a long task in this window, if short ones wait there.
func (d *Nodes) Asked(id records.NodeID) bool { return d.asked[id] }

// Place returns what a node is for; ok is false where nothing is long.
func (d *Nodes) Place(id records.NodeID) (p Place, ok bool) {
	d.places.RLock()
	defer d.places.RUnlock()
	return Place{Short: d.isShort(id), Closed: d.closed[id], Asked: d.asked[id]}, d.settings.On()
}
