package leader

import (
	"fmt"
	"strings"
	"testing"

	"heddle/yarn/records"
)

func (p *peer) refuses(all ...StartRefusal) {
	p.w.t.Helper()
	r := must[NodeReply](p.w.t)(p.w.HeartbeatNode(NodeCall{
		NodeCaller: atHome, Node: p.node, ResponseID: p.response, Status: NodeStatus{Healthy: true}, Refused: all,
	}))
	p.response = r.ResponseID
}

func TestRefusedStartsAreKnownAsLongAsTheyHold(t *testing.T) {
	run(t, func(w *world) {
		n1, n2 := &peer{w: w, node: w.node(1)}, &peer{w: w, node: w.node(2)}
		am := w.am(nil)
		id := am.attempt.App
		no := func(reason string) StartRefusal { return StartRefusal{App: id, Reason: reason} }
		want := func(text string) {
			t.Helper()
			if got := w.RefusedStarts(id); got != text {
				t.Errorf("%q, want %q", got, text)
			}
		}
		want("")
		n1.refuses(no("no such service"))
		want("containers can't start on node n1: no such service")
		n2.refuses(no("too late"), no("no such service"))
		want("containers can't start on 2 nodes (n1, n2): no such service; containers can't start on node n2: too late")
		n1.refuses()
		want("containers can't start on node n2: no such service; containers can't start on node n2: too late")
		n2.refuses(no("no such service"))
		w.node(2) // starts anew
		want("")
		n2.response = 0
		n2.refuses(no("no such service"))
		if err := w.UnregisterNode(n2.node, atHome); err != nil {
			t.Fatal(err)
		}
		want("")
		n1.refuses(no("no such service"))
		if err := w.Kill(id, "enough"); err != nil {
			t.Fatal(err)
		}
		want("")
		n1.refuses(no("no such service"), StartRefusal{App: id, Reason: "too late"})
		want("")
		if n := len(w.nodeManagers.refusals.apps); n != 0 {
			t.Errorf("%d applications that have ended are remembered", n)
		}
	})
}

func TestRefusedStartsAreBounded(t *testing.T) {
	var r startRefusals
	app := records.ApplicationID{ClusterTimestamp: 1, ID: 1}
	for i := range 3 * mostRefusing {
		r.add(app, nodeID(i), "no")
		r.add(app, nodeID(i), fmt.Sprint(i))
	}
	if n := len(r.apps[app]); n != mostReasons {
		t.Errorf("%d reasons", n)
	}
	if s, want := r.text(app), fmt.Sprintf("containers can't start on %d nodes or more (n0, n1, n2, …): no; ", mostRefusing); !strings.HasPrefix(s, want) {
		t.Errorf("%q, want %q", s, want)
	}
	for i := range 3 * mostRefusing {
		r.withdraw(app, nodeID(i))
	}
	if len(r.apps) != 0 {
		t.Errorf("remembered: %v", r.apps)
	}
}
