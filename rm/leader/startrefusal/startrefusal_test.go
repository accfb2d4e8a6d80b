package startrefusal

import (
	"fmt"
	"strings"
	"testing"

	"heddle/yarn/records"
)

func nodeID(i int) records.NodeID { return records.NodeID{Host: fmt.Sprintf("n%d", i), Port: 45454} }

func appID(i int) records.ApplicationID {
	return records.ApplicationID{ClusterTimestamp: 1, ID: int32(i)}
}

// empty checks that nothing takes memory.
func empty(t *testing.T, r *Refusals) {
	t.Helper()
	if len(r.reasons) != 0 || len(r.nodes) != 0 {
		t.Errorf("remembered: %v of %v", r.reasons, r.nodes)
	}
}

func TestWhatANodeReportsReplacesWhatItReported(t *testing.T) {
	var r Refusals
	first, second := appID(1), appID(2)
	expect := func(app records.ApplicationID, want string) {
		t.Helper()
		if got := r.Diagnostics(app); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	r.Replace(nodeID(1), []Refusal{{first, "no such service"}, {second, "no such service"}})
	expect(first, "containers can't start on node n1: no such service")
	r.Replace(nodeID(2), []Refusal{{first, "too late"}, {first, "no such service"}, {first, "no such service"}})
	expect(first, "containers can't start on 2 nodes (n1, n2): no such service; containers can't start on node n2: too late")
	r.Replace(nodeID(1), []Refusal{{second, "too late"}})
	expect(first, "containers can't start on node n2: no such service; containers can't start on node n2: too late")
	expect(second, "containers can't start on node n1: too late")
	r.AppEnded(first)
	expect(first, "")
	expect(second, "containers can't start on node n1: too late")
	r.Replace(nodeID(1), nil)
	expect(second, "")
	r.Replace(nodeID(2), nil)
	empty(t, &r)
}

func TestMemoryIsBounded(t *testing.T) {
	var r Refusals
	app := appID(1)
	for i := range 3 * maxNodes {
		r.Replace(nodeID(i), []Refusal{{app, "no"}, {app, fmt.Sprint(i)}})
	}
	if n := len(r.reasons[app]); n != maxReasons {
		t.Errorf("%d reasons", n)
	}
	if s, want := r.Diagnostics(app), fmt.Sprintf("containers can't start on %d nodes or more (n0, n1, n2, …): no; ", maxNodes); !strings.HasPrefix(s, want) {
		t.Errorf("%q, want %q", s, want)
	}
	if len(r.nodes) != maxNodes {
		t.Errorf("%d nodes are remembered", len(r.nodes))
	}
	for i := range 3 * maxNodes {
		r.Replace(nodeID(i), nil)
	}
	empty(t, &r)
	r.Replace(nodeID(1), []Refusal{{app, strings.Repeat("x", 2*maxReasonSize)}})
	if s := r.Diagnostics(app); len(s) > maxReasonSize+100 {
		t.Errorf("a reason takes %d bytes", len(s))
	}
}
