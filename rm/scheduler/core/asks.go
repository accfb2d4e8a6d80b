package core

import (
	"cmp"
	"math/bits"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeset"
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
	Work                nodeset.Work
}

// Demand is all rows of one priority and allocation request id (Hadoop: SchedulerRequestKey). What each decision touches
// stands first.
type Demand struct {
	App          handle.App
	Priority     int32
	RequestID    int64
	Pending      int32 // the count of Any
	Reservations int32
	execution    pb.ExecutionType
	Class        uint8
	Why          Blocked
	Hosts, Racks bool // some preferred host, or rack, may have room
	RelaxAny     bool
	classed      bool // holds its class
	gone         bool
	listed       bool          // is among Core.parked
	timed        bool          // is among Core.timed
	Choosy       bool          // has places
	Work         nodeset.Works // its kind

	Capability records.Resource
	Size       records.Resource // of it what is measured

	Places    []Place         // hosts and racks, in the order in which they were first asked for
	placeOf   map[int32]int32 // name → index in places
	at        int             // the place that was last found to have room
	Since     int64           // when a worse place than preferred first had room, in ms; 0: it hadn't
	Until     int64           // when the delay for locality is over that it waits for, or the leaf policy's hold; 0: none
	heldSince int64           // when the leaf policy first held it since it got a container, in ms; 0: it didn't
	vain      int64           // see hopes
	El        int32           // in Core.Demanded
	_         [3]int32        // to whole lines
}

// Blocked is what became of the last search for a node, and keeps a demand from being tried again. One that is parked has no part in its
// application's mask.
type Blocked uint8

const (
	Untried   Blocked = iota
	NoPlace           // none of the places that it may go to has room
	NoRoom            // no node that the application wants has
	OverLimit         // it would take a queue above its maximum
	Waits             // the leaf policy makes it wait; see Withholds
	BehindOwn         // what the application asks for more urgently comes first on the nodes with room
)

// Place is a row for a host or rack. Served rows stay with a count of 0 while the demand lasts.
type Place struct {
	Name  int32
	Count int32
	Relax bool
	waits bool // is among the name's waiters
}

func (d *Demand) place(name int32) *Place {
	if i, ok := d.placeOf[name]; ok {
		return &d.Places[i]
	}
	return nil
}

// Wants returns how many containers are preferred at a name.
func (d *Demand) Wants(name int32) int32 {
	if p := d.place(name); p != nil {
		return p.Count
	}
	return 0
}

// Relaxes reports whether containers preferred on hosts of a rack may go elsewhere in the rack.
func (d *Demand) Relaxes(rack int32) bool {
	p := d.place(rack)
	return p != nil && p.Count > 0 && p.Relax
}

func (d *Demand) Compare(priority int32, requestID int64) int {
	return cmp.Or(cmp.Compare(d.Priority, priority), cmp.Compare(d.RequestID, requestID))
}

// update enters a row.
func (s *Core) update(h handle.App, a *App, ask *Ask) {
	d := s.findDemand(a, ask.Priority, ask.AllocationRequestID)
	if d == nil {
		if ask.Count == 0 {
			return
		}
		d = s.addDemand(h, a, ask.Priority, ask.AllocationRequestID)
	}
	a.PendingSum = a.PendingSum.Sub(d.Capability.Times(int64(d.Pending)))
	if ask.Count > 0 {
		if d.Capability != ask.Capability {
			s.trim(d, 0)
		}
		s.setCapability(d, ask.Capability)
		d.execution = ask.ExecutionType
		if work := nodeset.WorkOf(ask.Work); work != d.Work {
			s.trim(d, 0)
			d.Work = work
		}
	}
	if ask.Name == Any {
		a.askFor(int64(ask.Count - d.Pending))
		d.Pending, d.RelaxAny = ask.Count, ask.RelaxLocality
	} else {
		s.updatePlace(d, ask)
	}
	a.PendingSum = a.PendingSum.Add(d.Capability.Times(int64(d.Pending)))
	d.Hosts, d.Racks, d.vain = true, true, 0
	s.setWhy(d, Untried)
	s.show(d)
	s.trim(d, d.Pending)
	if d.idle() {
		s.dropDemand(a, d)
	}
}

func (s *Core) updatePlace(d *Demand, ask *Ask) {
	name := s.Nodes.Intern(ask.Name)
	p := d.place(name)
	if p == nil {
		if d.placeOf == nil {
			d.placeOf = map[int32]int32{}
		}
		d.placeOf[name] = int32(len(d.Places))
		d.Places, d.Choosy = append(d.Places, Place{Name: name}), true
		p = &d.Places[len(d.Places)-1]
		s.Apps[d.App].places++
	}
	p.Count, p.Relax = ask.Count, ask.RelaxLocality
	if p.Count > 0 && !p.waits {
		p.waits = true
		s.await(name, d)
	}
}

func (s *Core) setCapability(d *Demand, capability records.Resource) {
	if d.classed && d.Capability == capability {
		return
	}
	if d.classed {
		s.Classes.Drop(d.Class)
	}
	d.Capability, d.Size = capability, s.Calc.Measure(capability)
	d.Class, d.classed = s.Classes.Hold(capability, d.Size), true
}

// idle reports whether no row asks for anything.
func (d *Demand) idle() bool {
	if d.Pending > 0 {
		return false
	}
	for i := range d.Places {
		if d.Places[i].Count > 0 {
			return false
		}
	}
	return true
}

// served takes one container on a node off the rows that it serves.
func (d *Demand) served(n *nodeset.Node, level Locality) {
	d.Pending--
	if level == NodeLocal {
		d.take(n.Host)
	}
	if level <= RackLocal {
		d.take(n.Rack)
	}
}

func (d *Demand) take(name int32) {
	if p := d.place(name); p != nil && p.Count > 0 {
		p.Count--
	}
}

// Row is the row for any node.
func (d *Demand) Row() Ask {
	return Ask{
		Priority: d.Priority, AllocationRequestID: d.RequestID, Name: Any, Capability: d.Capability, Count: d.Pending,
		RelaxLocality: d.RelaxAny, ExecutionType: d.execution, Work: nodeset.Work(bits.TrailingZeros8(uint8(d.Work))),
	}
}
