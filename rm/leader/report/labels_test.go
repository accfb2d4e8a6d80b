package report

import (
	"strings"
	"testing"

	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// What holds a request for nodes with a label is said of these nodes, and queues are shown as they are there.
func TestReasonsOfLabelledRequestsNameTheLabel(t *testing.T) {
	tree, err := queue.ParseCapacity(map[string]string{
		"root.queues": "default", "root.default.capacity": "100", "root.default.accessible-node-labels": "x", "root.default.accessible-node-labels.x.capacity": "100",
		"root.default.user-limit-factor": "10",
	})
	if err != nil {
		t.Fatal(err)
	}
	w := worldOf(t, tree)
	w.node("n1", node, pb.NodeState_NS_RUNNING)
	w.app(1, 9, gb(1)) // five have room
	w.UpdateAsks(w.apps[appID(1)], []scheduler.Ask{{Priority: 1, Name: scheduler.Any, Count: 2, Capability: gb(2), RelaxLocality: true, Label: "x"}})
	w.Step(1)
	w.SetLabel(w.nodes[nodeID("n1")], "x")
	w.Step(2)
	got, err := w.Reports.Explain(appID(1))
	if err != nil || len(got[appID(1)]) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, h := range got[appID(1)] {
		if labelled := strings.HasPrefix(h.Text, "on nodes with label x: "); labelled != (h.Ask.Label == "x") || h.Text == "" {
			t.Errorf("of label %q: %s", h.Ask.Label, h.Text)
		}
	}
	queues, err := w.QueuesByLabel()
	if err != nil || len(queues) != 1 || queues["x"][1].Used != gb(1).Times(5) {
		t.Errorf("%+v, %v", queues, err)
	}
	if apps := w.Reports.Apps([]records.ApplicationID{appID(1)}); len(apps[appID(1)].Uses) != 2 {
		t.Errorf("%+v", apps)
	}
}
