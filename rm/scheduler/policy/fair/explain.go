package fair

import (
	"fmt"

	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/demand"
	"heddle/rm/scheduler/explain"
	"heddle/rm/scheduler/handle"
	"heddle/yarn/records"
)

func (p *Policy) explainOwn(a *core.App, d *core.Demand, r *explain.Reason) bool {
	if d.Why != demand.BehindOwn {
		return false
	}
	largest := p.s.Nodes.Largest()
	for e := range p.s.Demands(a) {
		if e == d {
			break
		}
		if e.Pending == 0 || !p.s.BelowMaximum(a.Leaf, &e.Size) || !p.s.Calc.Fits(&e.Size, &largest) {
			continue
		}
		r.Lack(records.Resource{})
		r.Because(explain.BehindOwn, fmt.Sprintf("the application's request for %s, of priority %d, is more urgent, and comes first on the nodes that are large enough for it",
			p.s.Format(e.Capability), e.Priority), "room for that request, or its withdrawal")
		return true
	}
	// An earlier one may have gone above a maximum since; the next look at starved applications shows that.
	r.Lack(records.Resource{})
	r.Because(explain.BehindOwn, "a more urgent request of the application came first when it was last looked at; it is looked at again at the next update of shares",
		"the next update of shares")
	return true
}

// ExplainUnreserved says why no node is reserved for a request that finds no room.
func (p *Policy) ExplainUnreserved(a *core.App, d *core.Demand, r *explain.Reason) {
	if !a.Live {
		return
	}
	f := &p.s.Tree.Settings.Fair
	due := p.dueTo(handle.App(p.s.Rankings.Ref(a.El)), p.sharesNow())
	switch reserved, most := p.reservedFor(a), p.mostReserved(p.s.Nodes.OpenNodes()); {
	case !p.isLarge(a, d):
		r.Text += fmt.Sprintf("; none is reserved for it, as it is smaller than %s (reservation-threshold.increment-multiple)", p.s.Format(f.ReservedFrom))
	case !p.isBelow(a, &due) && !p.leafStarves(a.Leaf):
		r.Text += fmt.Sprintf("; none is reserved for it, as the application has its fair share of %s", p.s.Format(due))
	case reserved >= most:
		r.Text += fmt.Sprintf("; none is reserved for it, as %d of %d nodes are reserved for the application (reservable-nodes)", reserved, p.s.Nodes.OpenNodes())
	}
}

// Explaining keeps what queues are due while applications are explained.
func (p *Policy) Explaining(on bool) { p.explaining, p.explained = on, nil }

// ExplainTurn looks for a more urgent request of the same application.
func (p *Policy) ExplainTurn(a *core.App, _ *core.User, d *core.Demand, r *explain.Reason) bool {
	return p.explainOwn(a, d, r)
}

// ExplainMasters looks at the limit of the leaf.
func (p *Policy) ExplainMasters(a *core.App, _ *core.User, r *explain.Reason) bool {
	limit := p.AMLimit(a.Leaf)
	if p.mayActivate(a, &limit) {
		return false
	}
	explain.HeldByQueueMasters(p.s, a, limit, r)
	return true
}
