package view

import (
	"fmt"
	"slices"
	"strings"

	"heddle/rm/ledger"
	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// Reason is why containers that were asked for are not there yet.
type Reason struct {
	Ask   scheduler.Ask
	Limit string // what holds it: nodes, place, size, free or order
	Text  string
	Short records.Resource // what the nearest node lacks
	Node  string           // the nearest node, "" if there is none
	// Open is the number of nodes that take containers, Eligible that of nodes that could take it when they are empty.
	Open, Eligible int
}

// Explain says for each request of an application that waits which limit holds it, and by how much. The application must
// have its asks (AddAsks).
func (v *Viewer) Explain(a *App) []Reason {
	if len(a.Asks) == 0 {
		return nil
	}
	return v.explain(a, v.openNodes())
}

func (v *Viewer) openNodes() []Node {
	return slices.DeleteFunc(v.Nodes(), func(n Node) bool { return !n.Usable() })
}

func (v *Viewer) explain(a *App, nodes []Node) (out []Reason) {
	if a.State.Ended() {
		return nil
	}
	for _, ask := range a.Asks {
		if ask.Name == scheduler.Any {
			out = append(out, v.explainAsk(a, ask, nodes))
		}
	}
	return out
}

func (v *Viewer) explainAsk(a *App, ask scheduler.Ask, nodes []Node) Reason {
	r := Reason{Ask: ask, Open: len(nodes)}
	size := v.Types.Format(ask.Capability)
	admitted := slices.DeleteFunc(slices.Clone(nodes), func(n Node) bool { return !admits(a, ask, &n) })
	large := slices.DeleteFunc(slices.Clone(admitted), func(n Node) bool { return !ask.Capability.FitsIn(n.Capability) })
	r.Eligible = len(large)
	switch {
	case len(nodes) == 0:
		r.Limit, r.Text, r.Short = "nodes", "no node takes containers: none is registered and healthy", ask.Capability
	case len(admitted) == 0:
		r.Limit, r.Short = "place", ask.Capability
		r.Text = fmt.Sprintf("none of the %d nodes that take containers is one that the request admits (excluded: %s)",
			len(nodes), strings.Join(a.Excluded, ", "))
	case len(large) == 0:
		r.Limit = "size"
		r.Node, r.Short = v.nearest(ask.Capability, admitted, func(n *Node) records.Resource { return n.Capability })
		r.Text = fmt.Sprintf("no node is large enough for %s: %s, the largest, lacks %s", size, r.Node, v.Types.Format(r.Short))
	default:
		r.Limit = "free"
		r.Node, r.Short = v.nearest(ask.Capability, large, func(n *Node) records.Resource { return n.Capability.Sub(n.Used) })
		r.Text = fmt.Sprintf("no node has %s free: %s, which comes nearest, lacks %s", size, r.Node, v.Types.Format(r.Short))
		if r.Short.IsZero() {
			r.Limit, r.Text = "order", fmt.Sprintf("%s has room for %s; the next decision is due", r.Node, size)
		}
	}
	return r
}

// admits reports whether a request leaves a node open: it isn't excluded, and if locality is strict it is asked for.
func admits(a *App, ask scheduler.Ask, n *Node) bool {
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
func (v *Viewer) nearest(
	want records.Resource, nodes []Node, has func(*Node) records.Resource,
) (node string, short records.Resource) {
	least := -1.0
	for i := range nodes {
		var lacks records.Resource
		worst := 0.0
		for t := range v.Types.Len() {
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

// Summary is one line for people on what an application waits for.
func Summary(a *App, reasons []Reason) string {
	switch {
	case a.State.Ended():
		return "the application has ended"
	case len(reasons) > 0 && a.awaitsMaster():
		return waitsForMaster + reasons[0].Text
	case len(reasons) > 0:
		return fmt.Sprintf("waits for %d containers: %s", a.Waiting, reasons[0].Text)
	case a.State == ledger.AppAccepted && a.Unmanaged:
		return "waits for its ApplicationMaster to register; it is unmanaged, so that somebody must start it"
	case a.State == ledger.AppAccepted:
		return "waits for its ApplicationMaster, whose container has been granted, to start and register"
	}
	return "waits for nothing"
}

const waitsForMaster = "waits for its ApplicationMaster's container: "

// awaitsMaster reports whether the application is stuck for want of a container for its ApplicationMaster.
func (a *App) awaitsMaster() bool {
	return a.State == ledger.AppAccepted && !a.Unmanaged && a.AMContainer == (records.ContainerID{})
}

// AddDiagnostics has applications that wait for their ApplicationMaster's container say why, where nothing else is said of
// them. They get their asks for it, if they haven't them yet.
func (v *Viewer) AddDiagnostics(apps []App) {
	var waiting []int
	known := true
	for i := range apps {
		if a := &apps[i]; a.awaitsMaster() && a.Diagnostics == "" {
			waiting = append(waiting, i)
			known = known && len(a.Asks) > 0
		}
	}
	if len(waiting) == 0 {
		return
	}
	if !known {
		v.AddAsks(apps)
	}
	nodes := v.openNodes()
	for _, i := range waiting {
		if reasons := v.explain(&apps[i], nodes); len(reasons) > 0 {
			apps[i].Diagnostics = "Application " + waitsForMaster + reasons[0].Text
		}
	}
}
