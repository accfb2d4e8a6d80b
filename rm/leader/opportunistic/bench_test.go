package opportunistic

import (
	"fmt"
	"testing"

	"heddle/rm/ledger"
	"heddle/rm/scheduler"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// What each call of an ApplicationMaster pays where opportunistic containers are switched off, and where they are on and it asks for none.
func BenchmarkCallWithoutOpportunisticRequests(b *testing.B) {
	app := &ledger.Application{Attempts: []*ledger.Attempt{{State: ledger.AttemptRunning}}}
	asks := []scheduler.Ask{{Name: scheduler.Any, Capability: records.NewResource(1024, 1), Count: 3, RelaxLocality: true}}
	for name, on := range map[string]bool{"off": false, "on": true} {
		b.Run(name, func(b *testing.B) {
			a := New(nil, nil, Config{Settings: Settings{Enabled: on}})
			b.ReportAllocs()
			for b.Loop() {
				if rest, err := a.Serve(app, asks, nil, nil); err != nil || len(rest) != 1 {
					b.Fatal(rest, err)
				}
			}
		})
	}
}

// Why requests wait, on 10,000 nodes whose queues are full: a user may ask again and again, and the leader does nothing else meanwhile.
func BenchmarkExplain(b *testing.B) {
	work := ledger.New()
	a := New(nil, work, Config{Settings: Settings{Enabled: true}, LabelOf: func(records.NodeID) string { return "" }})
	for i := range 10_000 {
		id := records.NodeID{Host: fmt.Sprint("n", i), Port: 1}
		work.Nodes[id] = &ledger.Node{ID: id, State: pb.NodeState_NS_RUNNING, Capability: records.NewResource(8192, 8)}
		a.nodes[id] = &node{id: id, capacity: 10, length: 10}
	}
	app := records.ApplicationID{ClusterTimestamp: 1, ID: 1}
	w := &wishes{requests: map[key]*request{}}
	for i := range 100 {
		k := key{priority: int32(i), size: records.NewResource(1024, 1)}
		w.requests[k] = &request{key: k, count: 1}
	}
	a.apps[app] = w
	for b.Loop() {
		if why := a.Explain(app); len(why) != maxExplained {
			b.Fatal(why)
		}
	}
}
