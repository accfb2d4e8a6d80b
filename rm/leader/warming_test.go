package leader

import (
	"fmt"
	"slices"
	"testing"

	"heddle/rm/leader/warming"
	"heddle/yarn/records"
)

// tells is a heartbeat with what a job will read: ranges of files that are named after their hosts.
func (p *peer) tells(app records.ApplicationID, hosts ...string) []warming.Order {
	p.w.t.Helper()
	in := warming.Input{App: app}
	for i, h := range hosts {
		in.Splits = append(in.Splits, warming.Split{File: "/" + h, Offset: int64(i), Length: 10, Hosts: []string{h}})
	}
	r := must[NodeReply](p.w.t)(p.w.HeartbeatNode(NodeCall{
		NodeCaller: atHome, Node: p.node, ResponseID: p.response, Status: NodeStatus{Healthy: true}, Inputs: []warming.Input{in},
	}))
	p.response = r.ResponseID
	return r.Warming
}

// warms checks what nodes are told to read in their next heartbeats.
func (w *world) warms(what string, nodes []*peer, want ...string) {
	w.t.Helper()
	var got []string
	for _, n := range nodes {
		for _, o := range n.heartbeat().Warming {
			got = append(got, fmt.Sprintf("%s for %s: %d of %d wait, %d ranges", n.node.Host, o.User, o.Waiting, o.Total, len(o.Ranges)))
		}
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func mapsAt(host string, n int32) AllocateCall {
	asks := ask(n)
	asks[0].SetResourceName(host)
	return AllocateCall{Asks: asks}
}

func TestNodesReadAheadOfTheMapsThatWait(t *testing.T) {
	run(t, func(w *world) {
		n1, n2 := &peer{w: w, node: w.node(1)}, &peer{w: w, node: w.node(2)}
		all := []*peer{n1, n2}
		am := w.am(nil)
		app := am.attempt.App
		at, other := n1, n2
		if w.app(app).Current() != nil && w.state().Container(w.app(app).Current().AMContainer).Node == n2.node {
			at, other = n2, n1
		}
		w.warms("at first", all)
		other.tells(app, "n1")
		w.warms("as the node says that hasn't the ApplicationMaster", all)
		// The node of the ApplicationMaster hears of its part at once.
		if own := at.tells(app, at.node.Host, at.node.Host, other.node.Host, "nowhere"); len(own) != 1 || len(own[0].Ranges) != 2 || own[0].Waiting != 2 {
			t.Errorf("it is to read %+v", own)
		}
		am.allocate(mapsAt(at.node.Host, 2))
		am.allocate(mapsAt(at.node.Host, 1))
		w.warms("when a map has started", []*peer{at, other}, at.node.Host+" for alice: 1 of 2 wait, 0 ranges", other.node.Host+" for alice: 1 of 1 wait, 1 ranges")
		am.allocate(mapsAt(at.node.Host, 1))
		reduces := mapsAt(at.node.Host, 0)
		reduces.Asks[0].GetPriority().SetPriority(10)
		am.allocate(reduces)
		w.warms("when nothing has changed", all)
		if err := w.Kill(app, "enough"); err != nil {
			t.Fatal(err)
		}
		w.warms("at its end", all, "n1 for : 0 of 0 wait, 0 ranges", "n2 for : 0 of 0 wait, 0 ranges")
		at.tells(app, "n1")
		w.warms("after its end", all)
	})
}
