package session

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Random changes of nodes: each application hears of the last change of each node since it heard last, in the order of these changes, and what is
// kept is bounded by the nodes, not by the changes or the applications.
func TestApplicationsHearOfTheLastChangeOfEachNode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		news := &NodeNews{}
		node := func(n int32) records.NodeID { return records.NodeID{Host: "n", Port: n} }
		boxes := []MasterBox{NewMasterBox(news)}
		want := [][]NodeUpdate{nil}
		t.Repeat(map[string]func(*rapid.T){
			"changes": func(t *rapid.T) {
				for range rapid.IntRange(1, 3*fewChanges).Draw(t, "changes") {
					u := NodeUpdate{Node: node(int32(news.last % 7)), Kind: pb.NodeUpdateType(news.last % 3)}
					news.Add(u)
					for i := range want {
						want[i] = append(slices.DeleteFunc(want[i], func(x NodeUpdate) bool { return x.Node == u.Node }), u)
					}
				}
			},
			"an application begins": func(*rapid.T) {
				boxes, want = append(boxes, NewMasterBox(news)), append(want, nil)
			},
			"an attempt ends": func(t *rapid.T) {
				i := rapid.IntRange(0, len(boxes)-1).Draw(t, "application")
				boxes[i].EndAttempt(true)
				want[i] = nil
			},
			"an application calls": func(t *rapid.T) {
				i := rapid.IntRange(0, len(boxes)-1).Draw(t, "application")
				if got := boxes[i].Deliver().Nodes; !slices.Equal(got, want[i]) {
					t.Fatalf("application %d hears %v, want %v", i, got, want[i])
				}
				want[i] = nil
			},
			"": func(t *rapid.T) {
				if len(news.changes) > fewChanges {
					t.Fatalf("%d changes of 7 nodes are kept", len(news.changes))
				}
			},
		})
	})
}

// Nodes whose ports change with each start aren't kept for ever.
func TestNewsOfNodesThatAreGone(t *testing.T) {
	news := &NodeNews{Known: func(id records.NodeID) bool { return id.Port%1000 == 0 }}
	box := NewMasterBox(news)
	for port := range int32(100_000) {
		news.Add(NodeUpdate{Node: records.NodeID{Host: "n", Port: port}})
	}
	if len(news.changes) > fewChanges || len(news.at) > fewChanges {
		t.Errorf("%d changes of %d nodes are kept, of which 100 are known", len(news.changes), len(news.at))
	}
	known := 0
	for _, u := range box.Deliver().Nodes {
		if news.Known(u.Node) {
			known++
		}
	}
	if known != 100 {
		t.Errorf("the application hears of %d of 100 nodes", known)
	}
}
