package rest

import (
	"fmt"
	"slices"
	"strings"

	"heddle/rm/ledger"
	"heddle/rm/scheduler"
	"heddle/rm/view"
	"heddle/yarn/records"
)

// reason is why containers that were asked for are not there yet.
type reason struct {
	Priority  int32        `yarn:"priority"`
	RequestID int64        `yarn:"allocationRequestId"`
	Place     string       `yarn:"resourceName"`
	Count     int32        `yarn:"numContainers"`
	Asked     resourceInfo `yarn:"capability"`
	Limit     string       `yarn:"limit"` // what holds it: nodes, size, free, place or order
	Reason    string       `yarn:"reason"`
	Short     resourceInfo `yarn:"short"`           // what the nearest node lacks
	Node      string       `yarn:"node,omitempty"`  // the nearest node
	Eligible  int          `yarn:"eligibleNodes"`   // nodes that could ever take it
	Open      int          `yarn:"openNodes"`       // nodes that take containers
	Queue     string       `yarn:"queue,omitempty"` // the queue that holds it, if one does
}

// explain says for each request of an application that waits which limit holds it, and by how much.
func (s *server) explain(a *view.App) (out []reason) {
	if a.State.Ended() {
		return nil
	}
	nodes := slices.DeleteFunc(s.View.Nodes(), func(n view.Node) bool { return !n.Usable() })
	for _, ask := range a.Asks {
		if ask.Name == scheduler.Any {
			out = append(out, s.explainAsk(a, ask, nodes))
		}
	}
	return out
}

func (s *server) explainAsk(a *view.App, ask scheduler.Ask, nodes []view.Node) reason {
	r := reason{
		Priority: ask.Priority, RequestID: ask.AllocationRequestID, Place: ask.Name, Count: ask.Count,
		Asked: s.resource(ask.Capability), Open: len(nodes),
	}
	size := s.Types.Format(ask.Capability)
	admitted := slices.DeleteFunc(slices.Clone(nodes), func(n view.Node) bool { return !admits(a, ask, &n) })
	large := slices.DeleteFunc(slices.Clone(admitted), func(n view.Node) bool { return !ask.Capability.FitsIn(n.Capability) })
	r.Eligible = len(large)
	var short records.Resource
	switch {
	case len(nodes) == 0:
		r.Limit, r.Reason, short = "nodes", "no node takes containers: none is registered and healthy", ask.Capability
	case len(admitted) == 0:
		r.Limit, short = "place", ask.Capability
		r.Reason = fmt.Sprintf("none of the %d nodes that take containers is one that the request admits (excluded: %s)",
			len(nodes), strings.Join(a.Excluded, ", "))
	case len(large) == 0:
		r.Limit = "size"
		r.Node, short = s.nearest(ask.Capability, admitted, func(n *view.Node) records.Resource { return n.Capability })
		r.Reason = fmt.Sprintf("no node is large enough for %s: %s, the largest, lacks %s", size, r.Node, s.Types.Format(short))
	default:
		r.Node, short = s.nearest(ask.Capability, large, func(n *view.Node) records.Resource { return n.Capability.Sub(n.Used) })
		r.Limit = "free"
		r.Reason = fmt.Sprintf("no node has %s free: %s, which comes nearest, lacks %s", size, r.Node, s.Types.Format(short))
		if short.IsZero() {
			r.Limit = "order"
			r.Reason = fmt.Sprintf("%s has room for %s; the next decision is due", r.Node, size)
		}
	}
	r.Short = s.resource(short)
	return r
}

// admits reports whether a request leaves a node open: it isn't excluded, and if locality is strict it is asked for.
func admits(a *view.App, ask scheduler.Ask, n *view.Node) bool {
	if slices.Contains(a.Excluded, n.ID.Host) || slices.Contains(a.Excluded, n.Rack) {
		return false
	}
	if ask.RelaxLocality {
		return true
	}
	return slices.ContainsFunc(a.Asks, func(o scheduler.Ask) bool {
		return o.Priority == ask.Priority && o.AllocationRequestID == ask.AllocationRequestID &&
			(o.Name == n.ID.Host || o.Name == n.Rack && o.RelaxLocality)
	})
}

// nearest is the node that lacks least of an amount, by the share of it, and what it lacks.
func (s *server) nearest(
	want records.Resource, nodes []view.Node, has func(*view.Node) records.Resource,
) (node string, short records.Resource) {
	least := -1.0
	for i := range nodes {
		var lacks records.Resource
		worst := 0.0
		for t := range s.Types.Len() {
			if d := want[t] - has(&nodes[i])[t]; d > 0 {
				lacks[t] = d
				worst = max(worst, float64(d)/float64(want[t]))
			}
		}
		if least < 0 || worst < least {
			least, node, short = worst, nodes[i].ID.String(), lacks
		}
	}
	return node, short
}

// summary is one line for people on what an application waits for.
func summary(a *view.App, reasons []reason) string {
	switch {
	case a.State.Ended():
		return "the application has ended"
	case len(reasons) > 0 && a.State == ledger.AppAccepted && a.AMContainer == (records.ContainerID{}):
		return "waits for its ApplicationMaster's container: " + reasons[0].Reason
	case len(reasons) > 0:
		return fmt.Sprintf("waits for %d containers: %s", a.Waiting, reasons[0].Reason)
	case a.State == ledger.AppAccepted && a.Unmanaged:
		return "waits for its ApplicationMaster to register; it is unmanaged, so that somebody must start it"
	case a.State == ledger.AppAccepted:
		return "waits for its ApplicationMaster, whose container has been granted, to start and register"
	}
	return "waits for nothing"
}
