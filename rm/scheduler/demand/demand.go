package demand

import (
	"cmp"
	"math/bits"

	"heddle/rm/scheduler/class"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeset"
	"heddle/rm/scheduler/ranking"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Demand is all rows of one priority and allocation request id (Hadoop: SchedulerRequestKey). Fields that each decision
// touches stand first.
type Demand struct {
	App          handle.App
	Priority     int32
	RequestID    int64
	Pending      int32 // the count of Any
	Reservations int32
	Execution    pb.ExecutionType
	Class        uint8
	Why          Blocked // change it by Table.SetWhy
	Hosts, Racks bool    // some preferred host, or rack, may have room
	RelaxAny     bool
	classed      bool // holds its class
	gone         bool
	parked       bool          // is among Parked
	timed        bool          // is among Timed
	Choosy       bool          // has places
	Stays        bool          // it isn't for nodes that another partition shares
	Placed       bool          // has a SchedulingRequest
	queued       bool          // is among Unmets
	Guest        bool          // of another partition: it is told apart from what is asked for here, and counts for nothing
	Work         nodeset.Works // its kind

	Capability records.Resource
	Size       records.Resource // of it what is measured

	Places     []Place         // hosts and racks, in the order in which they were first asked for
	placeOf    map[int32]int32 // name → index in places
	LastPlace  int             // the place that was last found to have room
	Since      int64           // when a worse place than preferred first had room, in ms; 0: it hadn't
	Until      int64           // when the delay for locality is over that it waits for, or the leaf policy's hold; 0: none
	HeldSince  int64           // when the leaf policy first held it since it got a container, in ms; 0: it didn't
	Vain       int64           // the state of nodes, plus 1, in which none of its places had any that takes containers; 0: none
	el         int32           // in Table.arena
	_          [1]int32        // to whole lines
	scheduling *scheduling
}

// Blocked is the result of the last search for a node, and keeps a demand from being tried again. One that is blocked has no part in its
// application's mask.
type Blocked uint8

const (
	Untried   Blocked = iota
	NoPlace           // none of the places that it may go to has room
	NoRoom            // no node that the application wants has
	OverLimit         // it would take a queue above its maximum
	Waits             // the leaf policy makes it wait
	BehindOwn         // what the application asks for more urgently comes first on the nodes with room
	Unmet             // no node that has room satisfies its constraint, or it isn't its turn to be searched for
)

// Counts reports whether a demand counts in Set.Blocked: it waits for something of its own application, or for the policy of its leaf.
func (w Blocked) Counts() bool { return w == BehindOwn || w == Waits }

// Place is a row for a host or rack. Served rows stay with a count of 0 while the demand lasts.
type Place struct {
	Name  int32
	Count int32
	Relax bool
	waits bool // is among the name's Awaited
}

func (d *Demand) place(name int32) *Place {
	if i, ok := d.placeOf[name]; ok {
		return &d.Places[i]
	}
	return nil
}

// Prefers reports whether there is, or was, a row for a name.
func (d *Demand) Prefers(name int32) bool { return d.place(name) != nil }

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

// Compare orders demands by urgency.
func (d *Demand) Compare(priority int32, requestID int64) int {
	return cmp.Or(cmp.Compare(d.Priority, priority), cmp.Compare(d.RequestID, requestID))
}

// LocalityOn returns how near a node is to where the demand wants its containers.
func (d *Demand) LocalityOn(n *nodeset.Node) Locality {
	switch {
	case d.Wants(n.Host) > 0:
		return NodeLocal
	case d.Relaxes(n.Rack):
		return RackLocal
	}
	return OffSwitch
}

// Prefer enters a row for a host or rack. It reports whether there was no row for it before.
func (d *Demand) Prefer(name, count int32, relax bool) (first bool) {
	p := d.place(name)
	if first = p == nil; first {
		if d.placeOf == nil {
			d.placeOf = map[int32]int32{}
		}
		d.placeOf[name] = int32(len(d.Places))
		d.Places, d.Choosy = append(d.Places, Place{Name: name}), true
		p = &d.Places[len(d.Places)-1]
	}
	p.Count, p.Relax = count, relax
	return first
}

// TryAnew forgets what was found of its places.
func (d *Demand) TryAnew() { d.Hosts, d.Racks, d.Vain = true, true, 0 }

// Served takes one container on a node off the rows that it serves.
func (d *Demand) Served(n *nodeset.Node, locality Locality) {
	d.Pending--
	if locality == NodeLocal {
		d.take(n.Host)
	}
	if locality <= RackLocal {
		d.take(n.Rack)
	}
}

func (d *Demand) take(name int32) {
	if p := d.place(name); p != nil && p.Count > 0 {
		p.Count--
	}
}

// Idle reports whether no row asks for anything.
func (d *Demand) Idle() bool {
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

// Resize changes the demand to containers of a capability; size is its measured part.
func (d *Demand) Resize(capability, size records.Resource, classes *class.Table) {
	if d.classed && d.Capability == capability {
		return
	}
	d.declass(classes)
	d.Capability, d.Size = capability, size
	d.hold(classes)
}

func (d *Demand) hold(classes *class.Table) {
	d.classed = true
	if d.Guest {
		d.Class = classes.HoldGuest(d.Capability, d.Size)
	} else {
		d.Class = classes.Hold(d.Capability, d.Size)
	}
}

// Remeasure takes into account that another part of its capability is measured, in a table of classes that is new.
func (d *Demand) Remeasure(size records.Resource, classes *class.Table) {
	if d.classed {
		d.Size = size
		d.hold(classes)
	}
}

func (d *Demand) declass(classes *class.Table) {
	if d.classed {
		classes.Drop(d.Class)
		d.classed = false
	}
}

// offers returns the class of a demand that may be tried, as a mask.
func (d *Demand) offers() ranking.Mask {
	if d.Pending > 0 && d.Why == Untried && (!d.Guest || d.Class != class.Shared) {
		return 1 << d.Class
	}
	return 0
}

// Row returns the row for any node.
func (d *Demand) Row() Ask {
	return Ask{
		Priority: d.Priority, AllocationRequestID: d.RequestID, Name: Any, Capability: d.Capability, Count: d.Pending,
		RelaxLocality: d.RelaxAny, ExecutionType: d.Execution, Work: nodeset.Work(bits.TrailingZeros8(uint8(d.Work))), Stays: d.Stays,
		Scheduling: d.Scheduling(),
	}
}
