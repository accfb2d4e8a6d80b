package demand

import (
	"heddle/rm/scheduler/constraint"
	"heddle/rm/scheduler/handle"
)

// scheduling is where a demand's containers may go, by a table of what is where.
type scheduling struct {
	*constraint.Request
	table  *constraint.Table
	weight int64 // lookups that comparing it with a node takes
	seen   int32 // the state of what it hangs on when it was searched for
	permit permit
	putOff bool // it is yet to be searched for
}

// permit says whether a demand that has lined up may be searched for.
type permit uint8

const (
	notYet permit = iota
	once          // whatever is left of the allowance
	more          // while some of it is left
)

// Constrain says where its containers may go, and which tags they have; nil: anywhere, and none.
func (d *Demand) Constrain(r *constraint.Request, table *constraint.Table) {
	if d.Placed = r != nil; !d.Placed {
		d.scheduling = nil
	} else if d.scheduling == nil || !d.scheduling.Equal(r) {
		d.scheduling = &scheduling{Request: r, table: table, weight: r.Constraint.Cost()}
	}
}

// Scheduling returns what Constrain was told.
func (d *Demand) Scheduling() *constraint.Request {
	if !d.Placed {
		return nil
	}
	return d.scheduling.Request
}

// Repeats reports whether a row says what a demand for which no node was found says already.
func (d *Demand) Repeats(ask *Ask) bool {
	if d.Why != Unmet || !d.Placed || ask.Name != Any || !ask.Scheduling.Equal(d.Scheduling()) {
		return false
	}
	row := d.Row()
	row.Label, row.Scheduling = ask.Label, ask.Scheduling
	return row == *ask
}

// Admits reports whether a demand may have a container on a node, by the constraint of its SchedulingRequest. It is for searches, as it is paid for.
func (d *Demand) Admits(n handle.Node) bool {
	if !d.Placed {
		return true
	}
	p := d.scheduling
	p.table.Spend(p.weight)
	return p.table.May(d.App, n, p.Constraint)
}

// Unsatisfied is the part of its constraint that a node doesn't satisfy; nil: it satisfies all.
func (d *Demand) Unsatisfied(n handle.Node) *constraint.Constraint {
	return d.scheduling.table.Unmet(d.App, n, d.scheduling.Constraint)
}

// Weight is how many lookups it takes to compare its constraint with a node.
func (d *Demand) Weight() int64 { return d.scheduling.weight }

// Possible reports whether any node may satisfy its constraint.
func (d *Demand) Possible() bool {
	return d.scheduling.table.Possible(d.App, d.scheduling.Constraint)
}

// WasTried reports whether there was a search since it was asked for, or nothing kept it from one.
func (d *Demand) WasTried() bool { return !d.Placed || !d.scheduling.putOff }
