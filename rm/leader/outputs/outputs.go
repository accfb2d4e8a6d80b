// Package outputs sums up the reports of nodes and ApplicationMasters on map outputs, and on how fast these are fetched. The scheduler's
// stage policies use the sums to estimate how long shuffles take. They get changes once per tick, so thousands of nodes cost no more than a
// few. It is soft state: after a change of leaders nodes and ApplicationMasters report everything again.
//
// Numbers come from outside: values out of bounds are left out, and no node moves the rate of all by more than its share.
package outputs

import (
	"cmp"
	"math"
	"slices"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/records"
)

// MaxPerCall is of how many applications a node may tell at a time.
const MaxPerCall = 100

// Bounds of what one node, or ApplicationMaster, may tell of. Sums over 2¹⁶ nodes fit into 63 bits.
const (
	maxMaps  = 1 << 30
	maxBytes = 1 << 46
	minRate  = 1 << 10 // bytes per second
	maxRate  = 1 << 40
)

// Amount is how many maps have outputs, and their bytes.
type Amount struct{ Maps, Bytes int64 }

// Valid reports whether an amount is within bounds.
func (a Amount) Valid() bool {
	return a.Maps >= 0 && a.Maps <= maxMaps && a.Bytes >= 0 && a.Bytes <= maxBytes
}

func (a Amount) plus(b Amount) Amount { return Amount{a.Maps + b.Maps, a.Bytes + b.Bytes} }

func (a Amount) minus(b Amount) Amount { return Amount{a.Maps - b.Maps, a.Bytes - b.Bytes} }

// OfApp is what the maps of an application have put out.
type OfApp struct {
	App records.ApplicationID
	Amount
}

// Scheduler hears of what has changed.
type Scheduler interface {
	// Apply carries out an event (eventlog.Recorder.Apply).
	Apply(*eventlog.Event) bool
}

// Outputs are those of live applications. One goroutine may use them at a time.
type Outputs struct {
	apps     map[records.ApplicationID]*app
	changed  []*app
	rates    map[records.NodeID]float64
	retimed  bool    // rates have changed
	measured float64 // as the scheduler knows it
}

type app struct {
	handle  scheduler.AppHandle
	of      map[records.NodeID]Amount
	nodes   Amount // sum
	own     Amount // by its ApplicationMaster
	telling bool   // that does tell
	changed bool
	ended   bool
}

// New returns Outputs of which nothing is known.
func New() *Outputs {
	return &Outputs{apps: map[records.ApplicationID]*app{}, rates: map[records.NodeID]float64{}}
}

func (o *Outputs) app(id records.ApplicationID, h scheduler.AppHandle) *app {
	a := o.apps[id]
	if a == nil {
		a = &app{handle: h, of: map[records.NodeID]Amount{}}
		o.apps[id] = a
	}
	if !a.changed {
		a.changed = true
		o.changed = append(o.changed, a)
	}
	return a
}

// Heard records the total output of a live application's maps on a node.
func (o *Outputs) Heard(node records.NodeID, id records.ApplicationID, h scheduler.AppHandle, is Amount) {
	if !is.Valid() {
		return
	}
	a := o.app(id, h)
	a.nodes = a.nodes.minus(a.of[node]).plus(is)
	a.of[node] = is
}

// Told records the total output of its maps that the ApplicationMaster of a live application reports. Its word goes before that of nodes:
// it knows which outputs count.
func (o *Outputs) Told(id records.ApplicationID, h scheduler.AppHandle, is Amount) {
	if !is.Valid() {
		return
	}
	a := o.app(id, h)
	a.own, a.telling = is, true
}

// Fetched records how fast outputs are fetched from a node, in bytes per second.
func (o *Outputs) Fetched(node records.NodeID, rate int64) {
	if rate <= 0 {
		return
	}
	o.rates[node], o.retimed = float64(min(max(rate, minRate), maxRate)), true
}

// NodeLeft forgets a node that is gone, with what it served.
func (o *Outputs) NodeLeft(node records.NodeID) {
	if _, ok := o.rates[node]; ok {
		delete(o.rates, node)
		o.retimed = true
	}
	for id, a := range o.apps {
		if was, ok := a.of[node]; ok {
			delete(a.of, node)
			o.app(id, a.handle).nodes = a.nodes.minus(was)
		}
	}
}

// AppEnded forgets an application that has ended.
func (o *Outputs) AppEnded(id records.ApplicationID) {
	if a := o.apps[id]; a != nil {
		a.ended = true
		delete(o.apps, id)
	}
}

// Tell tells a scheduler of all that has changed since the last call.
func (o *Outputs) Tell(s Scheduler) {
	if o.retimed {
		o.retimed = false
		if rate := o.Bandwidth(); differs(o.measured, rate) {
			o.measured = rate
			s.Apply(&eventlog.Event{Op: eventlog.NoteBandwidth, Part: rate})
		}
	}
	slices.SortFunc(o.changed, func(a, b *app) int { return cmp.Compare(a.handle, b.handle) })
	for _, a := range o.changed {
		if a.changed = false; a.ended {
			continue
		}
		is := a.nodes
		if a.telling {
			is = a.own
		}
		s.Apply(&eventlog.Event{Op: eventlog.NoteOutputs, App: a.handle, Maps: is.Maps, Bytes: is.Bytes})
	}
	clear(o.changed)
	o.changed = o.changed[:0]
}

// Bandwidth returns the mean rate at which outputs are fetched, in bytes per second; 0 if no node has told any. It is the geometric mean, so that
// a node that is far off counts no more than others.
func (o *Outputs) Bandwidth() float64 {
	if len(o.rates) == 0 {
		return 0
	}
	var logs []float64
	for _, r := range o.rates {
		logs = append(logs, math.Log2(r))
	}
	slices.Sort(logs) // the same sum whatever the order of the map
	sum := 0.
	for _, l := range logs {
		sum += l
	}
	return math.Exp2(sum / float64(len(logs)))
}

// differs reports whether a rate has changed by so much that estimates should.
func differs(before, now float64) bool {
	const much = 0.05
	return math.Abs(now-before) > much*before
}
