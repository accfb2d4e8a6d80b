package leader

import (
	"errors"
	"testing"
	"time"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// strangers are callers that a node was not registered by.
var strangers = map[string]NodeCaller{"another address": {Address: "10.6.6.6"}, "no address": {}}

// Who is not the node can neither speak for it nor have it registered anew, which would lose its containers.
func TestHeartbeatsOfStrangersLoseNoContainers(t *testing.T) {
	run(t, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		n.heartbeat()
		for name, who := range strangers {
			for _, response := range []int32{n.response, n.response + 7} {
				r, err := w.HeartbeatNode(NodeCall{NodeCaller: who, Node: n.node, ResponseID: response, Status: NodeStatus{HealthReport: "bad"}})
				if !errors.Is(err, ErrStranger) {
					t.Errorf("%s: %v, %v", name, r.Action, err)
				}
			}
			r := must[NodeReply](t)(w.RegisterNode(NodeRegistration{Node: n.node, Capability: records.NewResource(4096, 4), NodeCaller: who}))
			if r.Action != pb.NodeAction_SHUTDOWN {
				t.Errorf("%s registers it: %v", name, r.Action)
			}
		}
		if r := n.heartbeat(); r.Action != pb.NodeAction_NORMAL {
			t.Errorf("then the node hears %v", r.Action)
		}
		if got := w.nodeState(n.node); got != "RUNNING" {
			t.Errorf("it is %s", got)
		}
	})
}

func TestOnlyWhoRegisteredANodeMayTakeItAway(t *testing.T) {
	run(t, func(w *world) {
		n := w.node(1)
		for name, who := range strangers {
			if err := w.UnregisterNode(n, who); !errors.Is(err, ErrStranger) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got := w.nodeState(n); got != "RUNNING" {
			t.Errorf("it is %s", got)
		}
		if err := w.UnregisterNode(n, atHome); err != nil {
			t.Fatal(err)
		}
		if got := w.nodeState(n); got != "SHUTDOWN" {
			t.Errorf("then it is %s", got)
		}
	})
}

// A node that has proved who it is needs no address, and nobody else has its.
func TestProofCountsMoreThanAnAddress(t *testing.T) {
	run(t, func(w *world) {
		proven := NodeCaller{Address: "10.0.0.9", Proven: true}
		register := func(who NodeCaller) pb.NodeAction {
			return must[NodeReply](t)(w.RegisterNode(NodeRegistration{Node: nodeID(1), Capability: records.NewResource(4096, 4), NodeCaller: who})).Action
		}
		if a := register(proven); a != pb.NodeAction_NORMAL {
			t.Fatal(a)
		}
		moved := NodeCaller{Address: "10.0.0.10", Proven: true}
		if r, err := w.HeartbeatNode(NodeCall{NodeCaller: moved, Node: nodeID(1), Status: NodeStatus{Healthy: true}}); err != nil || r.Action != pb.NodeAction_NORMAL {
			t.Errorf("from another address of its: %v, %v", r.Action, err)
		}
		claimed := NodeCaller{Address: proven.Address}
		if _, err := w.HeartbeatNode(NodeCall{NodeCaller: claimed, Node: nodeID(1), ResponseID: 1}); !errors.Is(err, ErrStranger) {
			t.Errorf("from its address, without proof: %v", err)
		}
		if err := w.UnregisterNode(nodeID(1), claimed); !errors.Is(err, ErrStranger) {
			t.Errorf("unregistered without proof: %v", err)
		}
		if a := register(claimed); a != pb.NodeAction_SHUTDOWN {
			t.Errorf("registered without proof: %v", a)
		}
	})
}

// A machine that got another address while it was silent registers from there.
func TestNodeWithANewAddressRegistersAnew(t *testing.T) {
	run(t, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		n.heartbeat()
		time.Sleep(twinPatience * 2 * w.Settings.HeartbeatInterval)
		there := NodeCaller{Address: "10.0.0.2"}
		r := must[NodeReply](t)(w.HeartbeatNode(NodeCall{NodeCaller: there, Node: n.node, ResponseID: n.response}))
		if r.Action != pb.NodeAction_RESYNC {
			t.Errorf("got %v", r.Action)
		}
		r = must[NodeReply](t)(w.RegisterNode(NodeRegistration{Node: n.node, Capability: records.NewResource(4096, 4), NodeCaller: there}))
		if r.Action != pb.NodeAction_NORMAL {
			t.Errorf("got %v, %s", r.Action, r.Diagnostics)
		}
	})
}
