package leader

import (
	"testing"

	"heddle/rm/leader/startrefusal"
)

func (p *peer) refuses(all ...startrefusal.Refusal) {
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
		no := func(reason string) startrefusal.Refusal { return startrefusal.Refusal{App: id, Reason: reason} }
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
		n1.refuses(no("no such service"), startrefusal.Refusal{App: id, Reason: "too late"})
		want("")
	})
}
