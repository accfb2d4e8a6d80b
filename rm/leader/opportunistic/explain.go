package opportunistic

import (
	"fmt"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/explain"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// maxExplained bounds the requests of an application that are explained, as each is compared with all nodes.
const maxExplained = 3

// Explain returns why the opportunistic requests of an application wait, the most urgent ones first. It changes nothing.
func (a *Allocator) Explain(id records.ApplicationID) (out []explain.Reason) {
	w := a.apps[id]
	if w == nil {
		return nil
	}
	for _, r := range w.mostUrgentFirst() {
		if len(out) == maxExplained {
			break
		}
		if r.count > 0 {
			out = append(out, a.reason(w, r))
		}
	}
	return out
}

// crowd counts the nodes that take opportunistic containers, as a request sees them.
type crowd struct {
	open, eligible, wanted, idle int // that there are, of these with its label and size, of these where it wants to be, of these with room in their queue
	queued, places               int // on those where it wants to be
}

func (a *Allocator) crowd(w *wishes, r *request) (c crowd) {
	for id, n := range a.nodes {
		on := a.work.Nodes[id]
		if on == nil || on.State != pb.NodeState_NS_RUNNING || n.capacity == 0 {
			continue
		}
		c.open++
		if a.cfg.LabelOf(id) != r.label || !r.size.FitsIn(on.Capability) {
			continue
		}
		c.eligible++
		if w.excluded[id.Host] || r.strict && r.places[id.Host] == 0 && r.places[on.Rack] == 0 {
			continue
		}
		c.wanted++
		load := n.length + len(n.sent)
		c.queued, c.places = c.queued+min(load, n.capacity), c.places+n.capacity
		if load < n.capacity {
			c.idle++
		}
	}
	return c
}

func (a *Allocator) reason(w *wishes, r *request) explain.Reason {
	c := a.crowd(w, r)
	out := explain.Reason{
		Ask: scheduler.Ask{
			Priority: r.priority, AllocationRequestID: r.id, Name: scheduler.Any, Capability: r.size, Count: r.count, Label: r.label,
			RelaxLocality: !r.strict, ExecutionType: pb.ExecutionType_OPPORTUNISTIC,
		},
		Limit: explain.NodeQueues, Node: -1, Behind: -1, Open: c.open, Eligible: c.eligible,
	}
	switch {
	case c.open == 0:
		out.Limit, out.Text = explain.NoNodes, "no node takes opportunistic containers"
		out.Free = "set yarn.nodemanager.opportunistic-containers-max-queue-length above 0 on nodes"
	case c.eligible == 0:
		out.Limit, out.Text = explain.TooLarge, fmt.Sprintf("none of the %d nodes that take opportunistic containers is large enough", c.open)
		if r.label != "" {
			out.Text += ", or has the label"
		}
		out.Free = "larger nodes, or a smaller request"
	case c.wanted == 0:
		out.Limit, out.Text = explain.WrongPlace, fmt.Sprintf("the application wants none of the %d nodes that take opportunistic containers of this size", c.eligible)
		out.Free = "other places, or a relaxed locality"
	case c.idle == 0:
		out.Text = fmt.Sprintf("the queues of opportunistic containers are full: %d of %d places on %d nodes are taken", c.queued, c.places, c.wanted)
		out.Free = "when containers on nodes start or end; longer queues (yarn.nodemanager.opportunistic-containers-max-queue-length)"
	default:
		out.Text = fmt.Sprintf("%d of %d nodes have room in their queues: it comes with the ApplicationMaster's next call", c.idle, c.wanted)
	}
	return out
}
