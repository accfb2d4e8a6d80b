package explain

import (
	"fmt"
	"strings"

	"heddle/rm/scheduler/nodeset"

	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/handle"
	"heddle/yarn/records"
)

// Activity is the outcome for a queue, application or request when containers are given out on a node, in the words of YARN's
// scheduler (Hadoop: ActivityNode, ActivityDiagnosticConstant). Below a request that its queues have room for is what it comes to on
// the node itself.
type Activity struct {
	Queue      string     // path; "" of what isn't a queue
	App        handle.App // -1 of a queue
	Ask        *core.Ask  // of a request, the row for any node
	OnNode     bool       // what a request comes to on the node itself
	Priority   int32      // of the application
	State      ActivityState
	Diagnostic string // "" if the activities below say it
	// From is the application whose ask ends the search in a queue, -1 if there is none. The diagnostic names it at its end.
	From     handle.App
	Children []Activity
}

// ActivityState says how far a queue, application or request got.
type ActivityState string

// States of activities.
const (
	ActivitySkipped    ActivityState = "SKIPPED"     // others may still be served
	ActivityRejected   ActivityState = "REJECTED"    // by a limit
	ActivityReReserved ActivityState = "RE_RESERVED" // the node is reserved for it, and still hasn't room
)

const (
	NodeTooFull      = "Initial check: node resource is insufficient for minimum allocation"
	NodeReserved     = "Queue skipped because node has been reserved"
	QueueIdle        = "Queue does not need more resource"
	QueueAtMaximum   = "Queue hits max-capacity limit"
	UserAtLimit      = "Queue hits user max-capacity limit"
	QueueBlocked     = "Queue does not have enough headroom for inner highest-priority request"
	AppIdle          = "Application does not need more resource"
	nodeOfOthers     = "Node skipped because its partition is another one than that of the request"
	nodeBlacklisted  = "Node is blacklisted"
	nodeClosedToWork = "Node is closed to this kind of work"
	nodeTooSmall     = "Node's total resource is insufficient for request"
	nodeLacks        = "Node does not have sufficient resource for request"
	nodeElsewhere    = "Node skipped because relax locality is not allowed"
	nodeDelayed      = "Node skipped because of off-switch delay"
)

// Elsewhere is the outcome for a request on a node of another partition than its own.
var Elsewhere = Activity{App: handle.NoApp, From: handle.NoApp, OnNode: true, State: ActivitySkipped, Diagnostic: nodeOfOthers}

// maxOnNodes is how much OnNodes tells of more than one request.
const maxOnNodes = 20_000

// OnNodes tells, for each request of an application that waits, the most urgent first, what it comes to on each of some nodes, as far
// as that is up to the node. Of very many requests and nodes the most urgent requests are told of.
func (s *Explainer) OnNodes(h handle.App, nodes []handle.Node) (out [][]Activity) {
	a := &s.core.Apps[h]
	for d := range s.core.Demands(a) {
		if d.Pending == 0 || d.Guest {
			continue
		}
		if n := len(out) + 1; n > maxExplained || n > 1 && n*len(nodes) > maxOnNodes {
			break
		}
		list := make([]Activity, len(nodes))
		for i, n := range nodes {
			list[i] = OnNode(s.core, a, d, &s.core.Nodes.At[n])
		}
		out = append(out, list)
	}
	return out
}

// OnNode says why a request that its queues have room for isn't served on a node.
func OnNode(s *core.Core, a *core.App, d *core.Demand, n *nodeset.Node) Activity {
	out := Activity{App: handle.NoApp, From: handle.NoApp, OnNode: true, State: ActivitySkipped}
	if n.Reserved != handle.NoContainer && s.ReservationOf(n.Reserved).Demand == d {
		out.State = ActivityReReserved
	}
	capability, free := s.Calc.Measure(*s.Nodes.Capability(n)), s.Nodes.Free(n)
	switch {
	case n.Open != nodeset.NoWork && n.Open&d.Work == 0:
		out.Diagnostic = nodeClosedToWork
	case a.Blacklisted(n):
		out.Diagnostic = nodeBlacklisted
	case !d.RelaxAny && d.Wants(n.Host) == 0 && !d.Relaxes(n.Rack):
		out.Diagnostic = nodeElsewhere
	case !s.Calc.Fits(&d.Size, &capability):
		out.Diagnostic = nodeTooSmall + insufficient(s, &d.Capability, *s.Nodes.Capability(n))
	case !s.Calc.Fits(&d.Size, &free):
		out.Diagnostic = nodeLacks + insufficient(s, &d.Capability, s.Nodes.Capability(n).Sub(n.Used))
	default:
		out.Diagnostic = nodeDelayed
	}
	return out
}

// insufficient names what there isn't enough of (Hadoop: GenericDiagnosticsCollector). The part after the line is for a node alone.
func insufficient(s *core.Core, required *records.Resource, available records.Resource) string {
	var names []string
	for i := range s.Config.Types.Len() {
		if required[i] > available[i] && (i == records.Memory || !s.Calc.MemoryOnly) {
			names = append(names, s.Config.Types.At(i).Name)
		}
	}
	return fmt.Sprintf(", insufficient resources=[%s]\nrequired=%s, available=%s", strings.Join(names, ", "), s.Format(*required), s.Format(available))
}
