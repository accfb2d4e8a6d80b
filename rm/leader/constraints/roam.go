package constraints

import (
	"fmt"
	"slices"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/constraint"
)

// The Processor of YARN places a request that names no label on nodes of all labels that its queue has a share of, exclusive ones as well
// (CapacityScheduler.attemptAllocationOnNode). Here it is tried on nodes without a label first, and with each further call on those of another one. Nodes that a
// label lends to strangers take none of it but so.

// place says in an ask of the Processor on which nodes it is tried first. labels are those that the queue of the application may use. As in YARN, a request for
// others is not refused: it can't be met.
func (t *trial) place(ask *scheduler.Ask, labels []string) {
	ask.Stays = true
	if t.label == nil {
		t.left = labels
	} else if slices.Contains(labels, *t.label) {
		ask.Label = *t.label
	}
}

// among returns what a request of the Processor says of its containers, whose constraint may name a label: nothing satisfies one that isn't among some.
func among(labels []string, r *constraint.Request, label *string) *constraint.Request {
	if label == nil || *label == "" || slices.Contains(labels, *label) {
		return r
	}
	why := fmt.Sprintf("its queue has no share of the nodes with label %.255s", *label)
	return &constraint.Request{Tags: r.Tags, Constraint: &constraint.Constraint{Op: constraint.Never, Why: why}}
}

// moves has a request be tried on the nodes of the next label. When it was on all, it is back on those without one for what is left of its calls.
func (t *trial) moves(row *scheduler.Ask, tries int) bool {
	to := ""
	if len(t.left) > 0 {
		to, t.left = t.left[0], t.left[1:]
	} else if t.label != nil || t.calls >= tries {
		return false
	}
	moved := row.Label != to
	row.Label = to
	return moved
}
