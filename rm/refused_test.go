package rm

import (
	"strings"
	"testing"

	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// An application whose containers no node starts runs, and waits for ever: its user has to be told.
func TestRefusedStartsAreInTheDiagnostics(t *testing.T) {
	members := start(t, 1)
	l := leaderOf(t, members)
	w := newWorld(t, members)
	n := w.node()
	id := w.submit("ann")
	rm := w.master(<-n.started)
	call(w, protocol.RegisterApplicationMaster, rm, &pb.RegisterApplicationMasterRequest{})
	n.heartbeat(nil, 0)
	if d := w.report(id).GetDiagnostics(); d != "" {
		t.Errorf("diagnostics before: %q", d)
	}
	no := &pb.StartRefusal{}
	no.SetApplicationId(id.PB())
	no.SetReason("The auxService:spark_shuffle does not exist")
	n.refuses = []*pb.StartRefusal{no}
	n.heartbeat(nil, 0)
	const why = "ontainers can't start on node 127.0.0.1: The auxService:spark_shuffle does not exist"
	if d := w.report(id).GetDiagnostics(); d != "C"+why {
		t.Errorf("diagnostics: %q", d)
	}
	shown, _ := l.view.App(id)
	if s := l.view.Summary(&shown, nil); s != "c"+why { // what heddle app -why prints, and the application's page
		t.Errorf("summary: %q", s)
	}
	n.refuses = nil
	n.heartbeat(nil, 0)
	if d := w.report(id).GetDiagnostics(); strings.Contains(d, why) {
		t.Errorf("diagnostics when they start again: %q", d)
	}
}
