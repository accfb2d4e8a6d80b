package scheduler

import (
	"cmp"

	"heddle/rm/scheduler/handle"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Any is the resource name of an ask for any node.
const Any = "*"

// Ask is one row of an application's requests (YARN: ResourceRequest). Rows are absolute: one replaces what the
// application had asked before under the same priority, allocation request id and name. The row for Any holds the total;
// rows for hosts and racks say where containers are preferred.
type Ask struct {
	Priority            int32 // lower numbers are served first
	AllocationRequestID int64
	Name                string // host, rack, or Any
	Capability          records.Resource
	Count               int32
	RelaxLocality       bool // on Any and racks: containers may also go where only this row admits them
	ExecutionType       pb.ExecutionType
}

// demand is all rows of one priority and allocation request id (Hadoop: SchedulerRequestKey). What each decision touches
// stands first.
type demand struct {
	app          handle.App
	priority     int32
	requestID    int64
	pending      int32 // the count of Any
	reservations int32
	execution    pb.ExecutionType
	class        uint8
	why          why
	hosts, racks bool // some preferred host, or rack, may have room
	relaxAny     bool
	classed      bool // holds its class
	gone         bool
	listed       bool // is among Scheduler.parked
	choosy       bool // has places

	capability records.Resource
	size       records.Resource // of it what is measured

	places  []place         // hosts and racks, in the order in which they were first asked for
	placeOf map[int32]int32 // name → index in places
	at      int             // the place that was last found to have room
	since   int64           // when a worse place than preferred first had room, in ms; 0: it hadn't
	until   int64           // when the delay for locality is over that it waits for; 0: none
	vain    int64           // see hopes
	el      int32           // in Scheduler.lines
	_       [5]int32        // to whole lines
}

// why is what became of the last search for a node, and keeps a demand from being tried again. One that is parked has no part in its
// application's mask.
type why uint8

const (
	untried   why = iota
	noPlace       // none of the places that it may go to has room
	noRoom        // no node that the application wants has
	overLimit     // it would take a queue above its maximum
	behindOwn     // what the application asks for more urgently comes first on the nodes with room
)

// place is a row for a host or rack. Served rows stay with a count of 0 while the demand lasts.
type place struct {
	name  int32
	count int32
	relax bool
	waits bool // is among the name's waiters
}

func (d *demand) place(name int32) *place {
	if i, ok := d.placeOf[name]; ok {
		return &d.places[i]
	}
	return nil
}

// wants returns how many containers are preferred at a name.
func (d *demand) wants(name int32) int32 {
	if p := d.place(name); p != nil {
		return p.count
	}
	return 0
}

// relaxes reports whether containers preferred on hosts of a rack may go elsewhere in the rack.
func (d *demand) relaxes(rack int32) bool {
	p := d.place(rack)
	return p != nil && p.count > 0 && p.relax
}

func (d *demand) compare(priority int32, requestID int64) int {
	return cmp.Or(cmp.Compare(d.priority, priority), cmp.Compare(d.requestID, requestID))
}

// update enters a row.
func (s *Scheduler) update(h handle.App, a *app, ask *Ask) {
	d := s.findDemand(a, ask.Priority, ask.AllocationRequestID)
	if d == nil {
		if ask.Count == 0 {
			return
		}
		d = s.addDemand(h, a, ask.Priority, ask.AllocationRequestID)
	}
	a.pendingSum = a.pendingSum.Sub(d.capability.Times(int64(d.pending)))
	if ask.Count > 0 {
		if d.capability != ask.Capability {
			s.trim(d, 0)
		}
		s.setCapability(d, ask.Capability)
		d.execution = ask.ExecutionType
	}
	if ask.Name == Any {
		a.askFor(int64(ask.Count - d.pending))
		d.pending, d.relaxAny = ask.Count, ask.RelaxLocality
	} else {
		s.updatePlace(d, ask)
	}
	a.pendingSum = a.pendingSum.Add(d.capability.Times(int64(d.pending)))
	d.hosts, d.racks, d.vain = true, true, 0
	s.setWhy(d, untried)
	s.show(d)
	s.trim(d, d.pending)
	if d.idle() {
		s.dropDemand(a, d)
	}
}

func (s *Scheduler) updatePlace(d *demand, ask *Ask) {
	name := s.intern(ask.Name)
	p := d.place(name)
	if p == nil {
		if d.placeOf == nil {
			d.placeOf = map[int32]int32{}
		}
		d.placeOf[name] = int32(len(d.places))
		d.places, d.choosy = append(d.places, place{name: name}), true
		p = &d.places[len(d.places)-1]
		s.apps[d.app].places++
	}
	p.count, p.relax = ask.Count, ask.RelaxLocality
	if p.count > 0 && !p.waits {
		p.waits = true
		s.await(name, d)
	}
}

func (s *Scheduler) setCapability(d *demand, capability records.Resource) {
	if d.classed && d.capability == capability {
		return
	}
	if d.classed {
		s.classes.Drop(d.class)
	}
	d.capability, d.size = capability, s.calc.Measure(capability)
	d.class, d.classed = s.classes.Hold(capability, d.size), true
}

// idle reports whether no row asks for anything.
func (d *demand) idle() bool {
	if d.pending > 0 {
		return false
	}
	for i := range d.places {
		if d.places[i].count > 0 {
			return false
		}
	}
	return true
}

// served takes one container on a node off the rows that it serves.
func (d *demand) served(n *node, level Locality) {
	d.pending--
	if level == NodeLocal {
		d.take(n.host)
	}
	if level <= RackLocal {
		d.take(n.rack)
	}
}

func (d *demand) take(name int32) {
	if p := d.place(name); p != nil && p.count > 0 {
		p.count--
	}
}
