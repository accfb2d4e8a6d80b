package rest

import (
	"encoding/json"
	"fmt"
	"testing"

	"heddle/integration/minicluster"
	"heddle/rm/ledger"
	"heddle/rm/ledger/usage"
)

// The history of use says what /metrics says, and each member has the same: it stays when the leader falls, and after a restart of all.
func TestHistoryOutlivesLeadersAndRestarts(t *testing.T) {
	c := minicluster.Start(t, 3, nil)
	c.Node(minicluster.NodeOptions{})
	ids := c.Conf.RMIDs()
	ask := func(i int, path string) string { return member(t, c, i, path) }
	first := func(i int) (at int64, mb int64) {
		c.RM(i).Read(func(s *ledger.State) {
			for p := range s.Usage.Read(usage.Cluster, 0, 1<<50, usage.Step) {
				if f := p.Sum[usage.GuaranteedMB]; f > 0 {
					at, mb = p.Time, f
					return
				}
			}
		})
		return at, mb
	}
	leader := c.Leader()
	var at, mb int64
	c.Until("the node is in the history of all", func() bool {
		at, mb = first(leader)
		for i := range ids {
			if a, m := first(i); a != at || m != mb {
				return false
			}
		}
		return at > 0
	})
	var metrics struct{ ClusterMetrics struct{ TotalMB int64 } }
	if err := json.Unmarshal([]byte(ask(leader, "/ws/v1/cluster/metrics")), &metrics); err != nil || metrics.ClusterMetrics.TotalMB != mb {
		t.Errorf("the history has %d MB, and the metrics %+v (%v)", mb, metrics, err)
	}
	path := fmt.Sprintf("/ws/v1/heddle/history?from=%d&to=%d&step=10", at, at+usage.Step)
	before := ask(leader, path)
	c.StopRM(leader)
	next := c.Leader()
	if after := ask(next, path); after != before {
		t.Errorf("the next leader has\n%s\nand the one before had\n%s", after, before)
	}
	for i := range ids {
		if i != leader {
			c.StopRM(i)
		}
	}
	for i := range ids {
		c.StartRM(i)
	}
	if after := ask(c.Leader(), path); after != before {
		t.Errorf("after a restart of all there is\n%s\nand there was\n%s", after, before)
	}
}
