// Package startrefusal remembers which nodes start no containers of which live applications, and why. NodeManagers report it with
// their heartbeats, for instance when an auxiliary service is missing. The leader passes the reports on, and people read the sum of
// them in an application's diagnostics. It is soft state: after a change of leaders nodes report again.
package startrefusal

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"heddle/rm/ledger/limit"
	"heddle/yarn/records"
)

// MaxPerNode is how many refusals of a node a caller should pass on.
const MaxPerNode = 64

const (
	maxNodes      = 100     // that are remembered for an application and reason
	maxReasons    = 4       // that are remembered for an application
	maxReasonSize = 1 << 10 // of a reason, in bytes; the rest is cut off
	namedNodes    = 3       // that Diagnostics names for a reason
)

// Refusal is why a node starts no containers of an application at present.
type Refusal struct {
	App    records.ApplicationID
	Reason string
}

// Refusals are those of all nodes. The zero value is empty and ready to use. Its methods are safe for concurrent use.
type Refusals struct {
	mu      sync.Mutex
	reasons map[records.ApplicationID]map[string][]records.NodeID
	nodes   map[records.NodeID][]records.ApplicationID // of which a node refuses containers
}

// Replace makes all that a node refuses now take the place of what it refused before. The applications must be alive. Refusals beyond
// the bounds of this package are left out: people know enough by then.
func (r *Refusals) Replace(node records.NodeID, all []Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, app := range r.nodes[node] {
		r.withdraw(app, node)
	}
	delete(r.nodes, node)
	for _, refusal := range all {
		r.add(refusal.App, node, limit.Head(refusal.Reason, maxReasonSize))
	}
}

// AppEnded forgets an application that has ended.
func (r *Refusals) AppEnded(app records.ApplicationID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.reasons, app)
}

// withdraw forgets what a node has refused to an application.
func (r *Refusals) withdraw(app records.ApplicationID, node records.NodeID) {
	reasons := r.reasons[app]
	for reason, nodes := range reasons {
		nodes = slices.DeleteFunc(nodes, func(n records.NodeID) bool { return n == node })
		if reasons[reason] = nodes; len(nodes) == 0 {
			delete(reasons, reason)
		}
	}
	if len(reasons) == 0 {
		delete(r.reasons, app)
	}
}

// add records a node's refusal if there is room for it.
func (r *Refusals) add(app records.ApplicationID, node records.NodeID, reason string) {
	reasons := r.reasons[app]
	nodes, known := reasons[reason]
	if slices.Contains(nodes, node) || len(nodes) >= maxNodes || !known && len(reasons) >= maxReasons {
		return
	}
	if r.reasons == nil {
		r.reasons, r.nodes = map[records.ApplicationID]map[string][]records.NodeID{}, map[records.NodeID][]records.ApplicationID{}
	}
	if reasons == nil {
		reasons = map[string][]records.NodeID{}
		r.reasons[app] = reasons
	}
	reasons[reason] = append(nodes, node)
	r.nodes[node] = append(r.nodes[node], app)
}

// Diagnostics says which nodes refuse to start containers of an application, and why; "" if none does. The reason of most nodes comes
// first.
func (r *Refusals) Diagnostics(app records.ApplicationID) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	reasons := r.reasons[app]
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

// nodeNames returns how many nodes there are, with the names of a few.
func nodeNames(nodes []records.NodeID) string {
	if len(nodes) == 1 {
		return "node " + nodes[0].Host
	}
	count := fmt.Sprint(len(nodes))
	if len(nodes) >= maxNodes {
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
