package leader

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/rm/hosts"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

func exclude(t *testing.T, names ...string) *hosts.Lists {
	t.Helper()
	file := filepath.Join(t.TempDir(), "exclude")
	if err := os.WriteFile(file, []byte(strings.Join(names, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return must[*hosts.Lists](t)(hosts.Files{Exclude: file}.Read())
}

func (w *world) refresh(lists *hosts.Lists, graceful bool, timeout time.Duration) {
	w.t.Helper()
	if err := w.Hosts().RefreshNodes(lists, graceful, timeout); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) nodeState(id records.NodeID) string {
	w.t.Helper()
	return records.NodeStateName(w.state().Nodes[id].State)
}

// An ApplicationMaster runs on one node, and a container of it on another; that one is to leave.
func (w *world) leaving() (am *peer, n1, n2 *peer, c records.ContainerID) {
	w.t.Helper()
	n1 = &peer{w: w, node: w.node(1)}
	am = w.am(nil)
	n1.heartbeat(runs(w.app(am.attempt.App).Current().AMContainer))
	n2 = &peer{w: w, node: w.node(2)}
	rows := ask(1)
	rows[0].SetCapability(records.ResourceTypes{}.PB(records.NewResource(4096, 1)))
	grants := am.allocate(AllocateCall{Asks: rows}).Grants
	if len(grants) != 1 || grants[0].Node != n2.node {
		w.t.Fatalf("granted %+v", grants)
	}
	c = grants[0].ID
	n2.heartbeat(runs(c))
	return am, n1, n2, c
}

func TestNodesLeaveGracefully(t *testing.T) {
	run(t, func(w *world) {
		am, n1, n2, c := w.leaving()
		w.refresh(exclude(t, "n2"), true, time.Hour)
		reply := am.allocate(AllocateCall{Asks: ask(1)})
		var kinds []pb.NodeUpdateType
		for _, u := range reply.Updated {
			if u.Node == n2.node {
				kinds = append(kinds, u.Kind)
			}
		}
		if len(kinds) == 0 || kinds[len(kinds)-1] != pb.NodeUpdateType_NODE_DECOMMISSIONING {
			t.Errorf("the ApplicationMaster is told %v", kinds)
		}
		n2.heartbeat(ended(c, 0))
		am.allocate(AllocateCall{Asks: ask(3)})
		time.Sleep(time.Minute - 10*time.Second)
		for _, g := range am.allocate(AllocateCall{}).Grants {
			if g.Node == n2.node {
				t.Errorf("the leaving node gets %v", g.ID)
			}
		}
		if got := w.nodeState(n2.node); got != "DECOMMISSIONING" {
			t.Fatalf("the application lives, and the node is %s", got)
		}
		w.depose()
		w.lead() // which doesn't lose track of it
		n1.response, n2.response = 0, 0
		w.node(1, runs(w.app(am.attempt.App).Current().AMContainer))
		w.node(2)
		if ids := must[[]records.NodeID](t)(w.Hosts().Leaving()); len(ids) != 1 || ids[0] != n2.node || w.nodeState(n2.node) != "DECOMMISSIONING" {
			t.Errorf("after a change of leaders %v leave, and the node is %s", ids, w.nodeState(n2.node))
		}
		if err := w.Kill(am.attempt.App, "enough"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if got := w.nodeState(n2.node); got != "DECOMMISSIONED" {
			t.Errorf("nobody needs the node, and it is %s", got)
		}
	})
}

func TestLeavingNodesAreTakenWhenTheirTimeIsUp(t *testing.T) {
	run(t, func(w *world) {
		am, _, n2, _ := w.leaving()
		w.refresh(exclude(t, "10.0.0.9", "n2"), true, 30*time.Second)
		time.Sleep(25 * time.Second)
		am.allocate(AllocateCall{})
		if got := w.nodeState(n2.node); got != "DECOMMISSIONING" {
			t.Fatalf("the node is %s too early", got)
		}
		time.Sleep(6 * time.Second)
		if got := w.nodeState(n2.node); got != "DECOMMISSIONED" {
			t.Errorf("the time is up, and the node is %s", got)
		}
		done := am.allocate(AllocateCall{}).Completed
		if len(done) != 1 || done[0].ExitStatus != records.ExitAborted {
			t.Errorf("its containers: %+v", done)
		}
	})
}

func TestLeavingNodesMayStay(t *testing.T) {
	run(t, func(w *world) {
		am, _, n2, c := w.leaving()
		w.refresh(exclude(t, "n2"), true, hosts.Unset)
		w.refresh(exclude(t), true, hosts.Unset)
		if got := w.nodeState(n2.node); got != "RUNNING" {
			t.Fatalf("the node is %s", got)
		}
		n2.heartbeat(ended(c, 0))
		rows := ask(1)
		rows[0].SetCapability(records.ResourceTypes{}.PB(records.NewResource(4096, 1)))
		if g := am.allocate(AllocateCall{Asks: rows}).Grants; len(g) != 1 || g[0].Node != n2.node {
			t.Errorf("it gets nothing: %+v", g)
		}
	})
}

func TestNodesAreTakenAtOnce(t *testing.T) {
	run(t, func(w *world) {
		_, _, n2, c := w.leaving()
		w.refresh(exclude(t, "n2"), true, time.Hour)
		if err := w.Hosts().EndDecommissioning(); err != nil {
			t.Fatal(err)
		}
		if got := w.nodeState(n2.node); got != "DECOMMISSIONED" {
			t.Errorf("forced, and the node is %s", got)
		}
		r := must[NodeReply](t)(w.HeartbeatNode(NodeCall{NodeCaller: atHome, Node: n2.node, ResponseID: n2.response, Containers: []NodeContainer{runs(c)}}))
		if r.Action != pb.NodeAction_SHUTDOWN || r.Diagnostics != "Disallowed NodeManager nodeId: n2:45454 hostname: n2" {
			t.Errorf("a heartbeat is answered with %v, %q", r.Action, r.Diagnostics)
		}
		r = must[NodeReply](t)(w.RegisterNode(NodeRegistration{Node: n2.node, Capability: records.NewResource(4096, 4)}))
		if want := "Disallowed NodeManager from  n2, Sending SHUTDOWN signal to the NodeManager."; r.Action != pb.NodeAction_SHUTDOWN || r.Diagnostics != want {
			t.Errorf("a registration is answered with %v, %q", r.Action, r.Diagnostics)
		}
		w.refresh(exclude(t), false, hosts.Unset)
		w.node(2)
		if got := w.nodeState(n2.node); got != "RUNNING" {
			t.Errorf("admitted again, and the node is %s", got)
		}
	})
}

func TestOnlyListedMachinesMayBeNodes(t *testing.T) {
	run(t, func(w *world) {
		n1 := w.node(1)
		file := filepath.Join(t.TempDir(), "include")
		if err := os.WriteFile(file, []byte("n2 10.0.0.77"), 0o600); err != nil {
			t.Fatal(err)
		}
		w.refresh(must[*hosts.Lists](t)(hosts.Files{Include: file}.Read()), false, hosts.Unset)
		if got := w.nodeState(n1); got != "SHUTDOWN" {
			t.Errorf("a node that no list knows is %s", got)
		}
		w.node(2)
		r := must[NodeReply](t)(w.RegisterNode(NodeRegistration{Node: nodeID(3), Capability: records.NewResource(4096, 4), NodeCaller: NodeCaller{Address: "10.0.0.77"}, Names: []string{"10.0.0.77", nodeID(3).Host}}))
		if r.Action != pb.NodeAction_NORMAL {
			t.Errorf("a machine that is listed by its address: %v, %s", r.Action, r.Diagnostics)
		}
	})
}
