package leader

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"heddle/rm/ledger"
	"heddle/yarn/records"
)

const (
	// mostRefusals is how many refusals of a node are heard.
	mostRefusals = 64
	// mostRefusing is how many nodes are remembered that refuse an application's containers, mostReasons for how many reasons.
	mostRefusing, mostReasons = 100, 4
	// mostReason is how much of a reason is kept, in bytes.
	mostReason = 1 << 10
	// namedNodes is how many nodes are named to people.
	namedNodes = 3
)

// StartRefusal is why a node starts no containers of an application at present.
type StartRefusal struct {
	App    records.ApplicationID
	Reason string
}

// startRefusals are why nodes start no containers of live applications. Only the loop changes them.
type startRefusals struct {
	mu   sync.Mutex
	apps map[records.ApplicationID]map[string][]records.NodeID // by reason
}

// drop forgets an application.
func (r *startRefusals) drop(app records.ApplicationID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.apps, app)
}

// withdraw forgets what a node has refused to an application.
func (r *startRefusals) withdraw(app records.ApplicationID, node records.NodeID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reasons := r.apps[app]
	for reason, nodes := range reasons {
		nodes = slices.DeleteFunc(nodes, func(n records.NodeID) bool { return n == node })
		if reasons[reason] = nodes; len(nodes) == 0 {
			delete(reasons, reason)
		}
	}
	if len(reasons) == 0 {
		delete(r.apps, app)
	}
}

// add notes down what a node refuses. What there is no room for is left out: people know enough by then.
func (r *startRefusals) add(app records.ApplicationID, node records.NodeID, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reasons := r.apps[app]
	nodes, known := reasons[reason]
	if slices.Contains(nodes, node) || len(nodes) >= mostRefusing || !known && len(reasons) >= mostReasons {
		return
	}
	if r.apps == nil {
		r.apps = map[records.ApplicationID]map[string][]records.NodeID{}
	}
	if reasons == nil {
		reasons = map[string][]records.NodeID{}
		r.apps[app] = reasons
	}
	reasons[reason] = append(nodes, node)
}

// text tells people of an application's refusals: where most nodes refuse it, first.
func (r *startRefusals) text(app records.ApplicationID) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	reasons := r.apps[app]
	order := slices.SortedFunc(maps.Keys(reasons), func(a, b string) int {
		if n := len(reasons[b]) - len(reasons[a]); n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for _, reason := range order {
		parts = append(parts, fmt.Sprintf("containers can't start on %s: %s", nodeNames(reasons[reason]), reason))
	}
	return strings.Join(parts, "; ")
}

// nodeNames is how many nodes there are, with the names of a few.
func nodeNames(nodes []records.NodeID) string {
	if len(nodes) == 1 {
		return "node " + nodes[0].Host
	}
	count := fmt.Sprint(len(nodes))
	if len(nodes) >= mostRefusing {
		count += " nodes or more"
	} else {
		count += " nodes"
	}
	var names []string
	for _, n := range nodes[:min(len(nodes), namedNodes)] {
		names = append(names, n.Host)
	}
	if len(nodes) > namedNodes {
		names = append(names, "…")
	}
	return count + " (" + strings.Join(names, ", ") + ")"
}

// refusedStarts takes note of all that a node refuses now.
func (ns *nodeManagers) refusedStarts(n *nodeSoft, all []StartRefusal) {
	for _, app := range n.refused {
		ns.refusals.withdraw(app, n.id)
	}
	n.refused = n.refused[:0]
	for _, r := range all {
		ns.appOnNode(n, r.App) // so that it hears when the application ends
		if ns.apps[r.App] == nil {
			continue
		}
		ns.refusals.add(r.App, n.id, ledger.Head(r.Reason, mostReason))
		n.refused = append(n.refused, r.App)
	}
}

// RefusedStarts says which nodes refuse to start containers of a live application, and why; "" if none does.
func (ns *nodeManagers) RefusedStarts(app records.ApplicationID) string { return ns.refusals.text(app) }
