package scheduler

import (
	"cmp"
	"slices"

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

// demand is all rows of one priority and allocation request id (Hadoop: SchedulerRequestKey).
type demand struct {
	priority   int32
	requestID  int64
	capability records.Resource
	execution  pb.ExecutionType
	pending    int32 // the count of Any
	relaxAny   bool
	places     []place         // hosts and racks, in the order in which they were first asked for
	placeOf    map[int32]int32 // name → index in places
}

// place is a row for a host or rack. Served rows stay with a count of 0 while the demand lasts.
type place struct {
	name  int32
	count int32
	relax bool
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

// update enters a row and reports whether there may be more to place than before.
func (a *app) update(ask *Ask, name int32) bool {
	i, found := slices.BinarySearchFunc(a.demands, ask, func(d *demand, ask *Ask) int {
		return d.compare(ask.Priority, ask.AllocationRequestID)
	})
	if !found {
		if ask.Count == 0 {
			return false
		}
		a.demands = slices.Insert(a.demands, i, &demand{
			priority: ask.Priority, requestID: ask.AllocationRequestID, relaxAny: true,
			placeOf: map[int32]int32{},
		})
	}
	d := a.demands[i]
	if ask.Count > 0 {
		d.capability, d.execution = ask.Capability, ask.ExecutionType
	}
	if ask.Name == Any {
		a.pending += int64(ask.Count - d.pending)
		d.pending, d.relaxAny = ask.Count, ask.RelaxLocality
	} else {
		p := d.place(name)
		if p == nil {
			d.placeOf[name] = int32(len(d.places))
			d.places = append(d.places, place{name: name})
			p = &d.places[len(d.places)-1]
		}
		p.count, p.relax = ask.Count, ask.RelaxLocality
	}
	if d.idle() {
		a.demands = slices.Delete(a.demands, i, i+1)
		return false
	}
	return d.pending > 0
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

// forgetServed drops the demands of which nothing is left.
func (a *app) forgetServed() {
	a.demands = slices.DeleteFunc(a.demands, (*demand).idle)
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
