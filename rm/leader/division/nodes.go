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
// partition is those nodes whose ids have the lowest hashes, and Dice closes those that follow: so every leader finds the same ones, and a node that
// comes or goes moves one other at most at the edge of each. While short work waits, windows close the same nodes: only so do these drain of long
// tasks, which last for many windows.
//
// Methods are the loop's, but for Waited and Place, which may be called from any goroutine.
type Nodes struct {
	settings Settings

	// The loop changes these with places locked, and reads them without.
	places  sync.RWMutex
	ranking []ranked                // by hash
	short   int                     // how many of these, from the first one, are the short partition
	closed  int                     // how many of those that follow Dice has closed
	asked   map[records.NodeID]bool // by Dice, to suspend a long task if short ones wait there

	// Waiting returns how many short tasks wait that haven't started, and how long they have waited together; nil: none are known of.
	Waiting func() (tasks int64, sum time.Duration)

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

// Works returns the kinds of work to which a node is open.
func (d *Nodes) Works(id records.NodeID) scheduler.Works {
	if short, closed := d.place(id); short || closed {
		return scheduler.AllWork &^ scheduler.WorkOf(LongWork)
	}
	return scheduler.AllWork
}

// place reports whether a node is of the short partition, and whether it is one of those that Dice has closed.
func (d *Nodes) place(id records.NodeID) (short, closed bool) {
	i, found := slices.BinarySearchFunc(d.ranking, rank(id), ranked.compare)
	return found && i < d.short, found && i >= d.short && i < d.short+d.closed
}

// Add enters a node, and returns the nodes whose Works may have changed.
func (d *Nodes) Add(id records.NodeID) []records.NodeID {
	if !d.settings.On() || d.settings.Short <= 0 && d.sizer == nil {
		return nil
	}
	d.places.Lock()
	defer d.places.Unlock()
	r := rank(id)
	if i, found := slices.BinarySearchFunc(d.ranking, r, ranked.compare); !found {
		d.ranking = slices.Insert(d.ranking, i, r)
	}
	return d.resize(id)
}

// Remove forgets a node, and returns the nodes whose Works may have changed.
func (d *Nodes) Remove(id records.NodeID) []records.NodeID {
	d.places.Lock()
	defer d.places.Unlock()
	delete(d.asked, id)
	if i, found := slices.BinarySearchFunc(d.ranking, rank(id), ranked.compare); found {
		d.ranking = slices.Delete(d.ranking, i, i+1)
	}
	return d.resize(id)
}

// resize returns the nodes at the partition's edge, and at that of the nodes that Dice has closed, with the one that has come or gone.
func (d *Nodes) resize(id records.NodeID) []records.NodeID {
	before := d.short
	d.short = d.settings.Size(len(d.ranking))
	return sorted(slices.Concat([]records.NodeID{id}, d.between(before, d.short), d.between(before+d.closed, d.short+d.closed)))
}

// between returns the nodes around two places of the order, and between these.
func (d *Nodes) between(a, b int) (ids []records.NodeID) {
	for i := max(0, min(a, b)-1); i < min(len(d.ranking), max(a, b)+1); i++ {
		ids = append(ids, d.ranking[i].id)
	}
	return ids
}

// sorted sorts nodes, and has each once.
func sorted(ids []records.NodeID) []records.NodeID {
	slices.SortFunc(ids, records.NodeID.Compare)
	return slices.Compact(ids)
}

// Waited says that so many short tasks started after so long a wait since they were submitted, in all.
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
	if d.Waiting != nil {
		if tasks, sum := d.Waiting(); tasks > 0 { // where nothing starts, only these have waited
			d.sizer.Waited(sum/time.Duration(tasks), int(tasks))
		}
	}
	plan := d.sizer.Next(now, len(d.ranking))
	d.mu.Unlock()
	d.places.Lock()
	defer d.places.Unlock()
	general := d.ranking[d.short:]
	before := d.short + d.closed
	d.closed = min(plan.Closed, len(general))
	after := d.short + d.closed
	var changed []records.NodeID
	for _, r := range d.ranking[min(before, after):min(max(before, after), len(d.ranking))] {
		changed = append(changed, r.id)
	}
	for id := range d.asked {
		changed = append(changed, id)
	}
	d.asked = map[records.NodeID]bool{}
	for _, r := range partition.Draw(slices.Clone(general), plan.Requests, random) {
		d.asked[r.id] = true
		changed = append(changed, r.id)
	}
	return sorted(changed)
}

// Asked reports whether a node is to suspend a long task in this window, if short ones wait there.
func (d *Nodes) Asked(id records.NodeID) bool { return d.asked[id] }

// Short reports whether a node is of the short partition.
func (d *Nodes) Short(id records.NodeID) bool {
	short, _ := d.place(id)
	return short
}

// Place returns what a node is for; ok is false where nothing is long.
func (d *Nodes) Place(id records.NodeID) (p Place, ok bool) {
	d.places.RLock()
	defer d.places.RUnlock()
	p.Short, p.Closed = d.place(id)
	p.Asked = d.asked[id]
	return p, d.settings.On()
}
