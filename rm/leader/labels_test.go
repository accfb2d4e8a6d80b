package leader

import (
	"strings"
	"testing"

	"heddle/rm/leader/nodelabels"
	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/queue"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// partitioned has labels on, and queues a, which may use x and has it by default, and b, which may use none.
func partitioned(by string) func(*Settings) {
	return func(s *Settings) {
		s.Labels = nodelabels.Settings{Enabled: true, By: by}
		tree, err := queue.ParseCapacity(map[string]string{
			"root.queues": "a,b,default", "root.a.capacity": "40", "root.b.capacity": "40", "root.default.capacity": "20", "maximum-am-resource-percent": "1",
			"root.a.accessible-node-labels": "x", "root.a.accessible-node-labels.x.capacity": "100", "root.a.default-node-label-expression": "x",
			"root.b.accessible-node-labels": " ", "root.default.accessible-node-labels": " ",
		})
		if err != nil {
			panic(err)
		}
		s.Queues = tree
	}
}

// newest has all members apply the newest version of the ledger.
func (w *world) newest() {
	w.t.Helper()
	if err := w.Do(func() error {
		w.Enter(&ledgerpb.Command{LedgerVersionRaised: &ledgerpb.LedgerVersionRaised{Version: ledger.Version}})
		return nil
	}); err != nil {
		w.t.Error(err)
	}
}

func label(name string) nodelabels.Label { return nodelabels.Label{Name: name, Exclusive: true} }

func on(id records.NodeID, labels ...string) []nodelabels.Mapping {
	return []nodelabels.Mapping{{Node: id, Labels: labels}}
}

func in(queue string) func(*pb.ApplicationSubmissionContext) {
	return func(ctx *pb.ApplicationSubmissionContext) { ctx.SetQueue(queue) }
}

// nodesOf are those on which containers of an answer are.
func nodesOf(r AllocateReply) (ids []records.NodeID) {
	for _, g := range r.Grants {
		ids = append(ids, g.Node)
	}
	return ids
}

// A label, and which node has it, survive a change of leaders; what asks for it goes there, before and after.
func TestLabelsSurviveAChangeOfLeaders(t *testing.T) {
	runWorld(t, partitioned(nodelabels.Centralized), func(w *world) {
		if err := w.Labels().Add([]nodelabels.Label{label("x")}); err == nil || !strings.Contains(err.Error(), "upgrade all ResourceManagers") {
			t.Errorf("with an old ledger: %v", err)
		}
		w.newest()
		w.node(1)
		w.node(2)
		for _, err := range []error{
			w.Labels().Add([]nodelabels.Label{label("x"), {Name: "y"}}), w.Labels().Replace(on(records.NodeID{Host: nodeID(2).Host}, "x"), true),
		} {
			if err != nil {
				t.Error(err)
			}
		}
		am := w.am(in("a"))
		if c := w.app(am.attempt.App).Current(); c.AMNode != nodeID(2) {
			t.Errorf("the ApplicationMaster is on %v", c.AMNode)
		}
		if got := nodesOf(am.allocate(AllocateCall{Asks: ask(1)})); len(got) != 1 || got[0] != nodeID(2) {
			t.Errorf("a container on %v", got)
		}
		plain := ask(1)
		plain[0].SetNodeLabelExpression("")
		plain[0].SetAllocationRequestId(7)
		if got := nodesOf(am.allocate(AllocateCall{Asks: plain})); len(got) != 1 || got[0] != nodeID(1) {
			t.Errorf("a container without a label on %v", got)
		}
		w.depose()
		w.lead()
		again := w.am(in("a"))
		if c := w.app(again.attempt.App).Current(); c.AMNode != nodeID(2) {
			t.Errorf("after a change of leaders the ApplicationMaster is on %v", c.AMNode)
		}
		// relabelled under what runs there, which goes on
		if err := w.Labels().Replace(on(nodeID(2)), false); err != nil {
			t.Error(err)
		}
		if got := nodesOf(again.allocate(AllocateCall{Asks: ask(1)})); len(got) != 0 {
			t.Errorf("x has no node, and there is a container on %v", got)
		}
		if n := len(w.state().Nodes[nodeID(2)].Containers); n != 3 {
			t.Errorf("%d containers are left on the node", n)
		}
		if l := w.state().Labels; l.Of(nodeID(2)) != "" || len(l.Exclusive) != 2 || !l.Exclusive["x"] || l.Exclusive["y"] {
			t.Errorf("on record: %+v", l)
		}
	})
}

// In the words of a stock 3.4.2.
func TestRefusedLabels(t *testing.T) {
	runWorld(t, partitioned(nodelabels.Centralized), func(w *world) {
		w.newest()
		w.node(1)
		l := w.Labels()
		if err := l.Add([]nodelabels.Label{label(" x "), {Name: "y"}, label("y")}); err != nil {
			t.Error(err)
		}
		const odd = "label name should only contains {0-9, a-z, A-Z, -, _} and should not started with {-,_}, now it is= "
		for want, err := range map[string]error{
			"label added is empty or exceeds 255 character(s)": l.Add([]nodelabels.Label{label("")}),
			odd + "-bad": l.Add([]nodelabels.Label{label("ok"), label("-bad")}),
			odd + "a b":  l.Add([]nodelabels.Label{label("a b")}),
			"Exclusivity cannot be modified for an existing label with : <x:exclusivity=false>":                                      l.Add([]nodelabels.Label{{Name: "x"}, label("new")}),
			"Node label=nosuch to be removed doesn't existed in cluster node labels collection.":                                     l.Remove([]string{"y", "nosuch"}),
			"Label to be removed is null or empty":                                                                                   l.Remove([]string{" "}),
			"Cannot remove label=x, because queue=root.a is using this label. Please remove label on queue before remove the label":  l.Remove([]string{"x"}),
			"2 labels specified on host=n1, please note that we do not support specifying multiple labels on a single host for now.": l.Replace(on(nodeID(1), "x", "y"), false),
			"Not all labels being replaced contained by known label collections, please check, new labels=[*]":                       l.Replace(on(nodeID(1), "*"), false),
			"Failed to replace labels as there are unknown nodes:[n9:0]":                                                             l.Replace(append(on(nodeID(1), "y"), on(records.NodeID{Host: "n9"}, "y")...), true),
		} {
			if err == nil || err.Error() != "java.io.IOException: "+want || !refusal.Is(err, refusal.Refused) {
				t.Errorf("%v, not %s", err, want)
			}
		}
		if l := w.state().Labels; len(l.Exclusive) != 2 || l.Exclusive["y"] || len(l.Nodes) != 0 {
			t.Errorf("a refused change left something: %+v", l)
		}
	})
	runWorld(t, nil, func(w *world) {
		const off = "Node-label-based scheduling is disabled"
		for what, err := range map[string]error{
			"added": w.Labels().Add([]nodelabels.Label{label("x")}), "removed": w.Labels().Remove([]string{"x"}), "given": w.Labels().Replace(on(nodeID(1), "x"), false),
		} {
			if err == nil || what != "given" && !strings.Contains(err.Error(), off) {
				t.Errorf("labels are off, and one is %s: %v", what, err)
			}
		}
	})
}

// Nodes say which label they have. One that is wrong changes nothing, and keeps nobody out.
func TestNodesReportTheirLabels(t *testing.T) {
	runWorld(t, partitioned(nodelabels.Distributed), func(w *world) {
		w.newest()
		if err := w.Labels().Add([]nodelabels.Label{label("x"), label("y")}); err != nil {
			t.Error(err)
		}
		if err := w.Labels().Replace(on(nodeID(1), "x"), false); err == nil || !strings.Contains(err.Error(), nodelabels.NotCentral) {
			t.Errorf("%v", err)
		}
		said := func(names ...string) *[]string { return &names }
		register := func(i int, labels *[]string) NodeReply {
			return must[NodeReply](t)(w.RegisterNode(NodeRegistration{
				Node: nodeID(i), HTTPPort: 8042, Capability: records.NewResource(4096, 4), NodeCaller: atHome, Labels: labels,
			}))
		}
		if r := register(1, said("x")); !r.LabelsAccepted || r.Diagnostics != "" {
			t.Errorf("%+v", r)
		}
		const rejected = "Node Labels {nosuch} reported from NM with ID n2:45454 was rejected from RM with exception message as : " +
			"Not all labels being replaced contained by known label collections, please check, new labels=[nosuch]"
		if r := register(2, said("nosuch")); r.LabelsAccepted || r.Diagnostics != rejected || r.Action != pb.NodeAction_NORMAL {
			t.Errorf("%+v", r)
		}
		nm := &peer{w: w, node: nodeID(1)}
		beat := func(labels *[]string) NodeReply {
			r := must[NodeReply](t)(w.HeartbeatNode(NodeCall{
				NodeCaller: atHome, Node: nm.node, ResponseID: nm.response, Status: NodeStatus{Healthy: true}, Labels: labels,
			}))
			nm.response = r.ResponseID
			return r
		}
		of := func() string { l := w.state().Labels; return l.Of(nodeID(1)) }
		if r := beat(nil); r.LabelsAccepted || of() != "x" {
			t.Errorf("nothing said: %+v, %s", r, of())
		}
		if r := beat(said("y")); !r.LabelsAccepted || of() != "y" {
			t.Errorf("%+v, %s", r, of())
		}
		if r := beat(said("x", "y")); r.LabelsAccepted || !strings.Contains(r.Diagnostics, "2 labels specified on host=n1") || of() != "y" {
			t.Errorf("%+v, %s", r, of())
		}
		if r := beat(said()); !r.LabelsAccepted || of() != "" {
			t.Errorf("%+v, %s", r, of())
		}
	})
}
