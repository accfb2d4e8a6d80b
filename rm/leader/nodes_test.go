package leader

import (
	"fmt"
	"testing"
	"time"

	"heddle/rm/leader/noderecords"
	"heddle/rm/ledger"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

func TestNodeThatComesBackWithoutItsContainers(t *testing.T) {
	run(t, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		am := w.am(nil)
		r := am.allocate(AllocateCall{Asks: ask(1)})
		amc := w.app(am.attempt.App).Current().AMContainer
		n.heartbeat(runs(amc), runs(r.Grants[0].ID))
		stray := records.ContainerID{Attempt: records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 1, ID: 1}, Attempt: 1}, ID: 1}
		w.node(1, runs(amc), runs(stray))
		done := am.allocate(AllocateCall{})
		if len(done.Completed) != 1 || done.Completed[0].ID != r.Grants[0].ID || done.Completed[0].ExitStatus != records.ExitAborted {
			t.Errorf("the lost container was not reported: %+v", done.Completed)
		}
		n.response = 0
		if reply := n.heartbeat(runs(amc)); len(reply.Cleanup) != 1 || reply.Cleanup[0] != stray {
			t.Errorf("a container that nobody knows goes on: %+v", reply)
		}
		if a := w.app(am.attempt.App); a.State != ledger.AppRunning {
			t.Errorf("the application is %v", a.State)
		}
	})
}

func TestANodeThatLostAMastersContainerWithOthersOfItsApplication(t *testing.T) {
	for _, finished := range []bool{true, false} {
		t.Run(fmt.Sprintf("finished %v", finished), func(t *testing.T) {
			run(t, func(w *world) {
				n := &peer{w: w, node: w.node(1)}
				am := w.am(nil)
				r := am.allocate(AllocateCall{Asks: ask(2)})
				amc := w.app(am.attempt.App).Current().AMContainer
				n.heartbeat(runs(amc), runs(r.Grants[0].ID), runs(r.Grants[1].ID))
				if finished {
					if err := w.Finish(am.attempt, pb.FinalApplicationStatus_APP_SUCCEEDED, "", ""); err != nil {
						t.Fatal(err)
					}
				}
				w.node(1) // with none of them
				if a := w.app(am.attempt.App); a.State.Ended() != finished {
					t.Errorf("the application is %v", a.State)
				}
				for _, g := range r.Grants {
					if c := w.app(am.attempt.App).Containers.Get(g.ID); c != nil && c.Live() {
						t.Errorf("%v is live on a node that doesn't have it", g.ID)
					}
				}
			})
		})
	}
}

func TestSilence(t *testing.T) {
	run(t, func(w *world) {
		n1 := &peer{w: w, node: w.node(1)}
		am := w.am(nil)
		n2 := &peer{w: w, node: w.node(2)}
		var onSecond records.ContainerID
		for _, g := range am.allocate(AllocateCall{Asks: ask(4)}).Grants {
			if g.Node == n2.node {
				onSecond = g.ID
			}
		}
		n2.heartbeat(runs(onSecond))
		for range 13 { // n2 says nothing for 130 s
			time.Sleep(10 * time.Second)
			n1.heartbeat()
			if r := am.allocate(AllocateCall{}); len(r.Completed) > 0 {
				break
			}
		}
		if s := w.state().Nodes[n2.node].State; s != pb.NodeState_NS_LOST {
			t.Errorf("the silent node is %v", s)
		}
		if c := w.state().Container(onSecond); c != nil && c.Live() {
			t.Errorf("%v lives on a lost node", onSecond)
		}
		for range 7 { // and the ApplicationMaster says nothing for 70 s
			time.Sleep(10 * time.Second)
			n1.heartbeat()
		}
		a := w.app(am.attempt.App)
		if len(a.Attempts) != 2 || a.Attempts[0].Diagnostics != fmt.Sprintf("ApplicationMaster for attempt %v timed out", am.attempt) {
			t.Errorf("%d attempts, the first: %+v", len(a.Attempts), a.Attempts[0])
		}
		w.same()
	})
}

// Nodes that fall silent one after the other are lost one after the other, each within a tick or two of its time.
func TestEachSilentNodeIsLostInItsTurn(t *testing.T) {
	run(t, func(w *world) {
		const nodes, apart = 4, 25
		var peers []*peer
		for i := range nodes {
			peers = append(peers, &peer{w: w, node: w.node(i + 1)})
		}
		lost := map[int]int{}
		for second := 0; second < 240; second++ {
			for i, n := range peers {
				if second <= i*apart {
					n.heartbeat()
				} else if _, known := lost[i]; !known && w.state().Nodes[n.node].State == pb.NodeState_NS_LOST {
					lost[i] = second - i*apart
				}
			}
			time.Sleep(time.Second)
		}
		for i := range nodes {
			if silent := lost[i]; silent < 120 || silent > 122 {
				t.Errorf("node %d is lost after %d s, want 120 or little more", i+1, silent)
			}
		}
	})
}

func TestGrantsThatAreNeverUsedExpire(t *testing.T) {
	run(t, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		am := w.am(nil)
		used, unused := am.allocate(AllocateCall{Asks: ask(2)}).Grants, records.ContainerID{}
		n.heartbeat(runs(used[0].ID))
		unused = used[1].ID
		var done []Completion
		for range 31 {
			time.Sleep(10 * time.Second)
			n.heartbeat()
			done = append(done, am.allocate(AllocateCall{}).Completed...)
		}
		if len(done) != 1 || done[0].ID != unused || done[0].Diagnostics != "Container expired since it was unused" {
			t.Errorf("expired: %+v", done)
		}
	})
}

func TestUnhealthyNodesLoseTheirContainers(t *testing.T) {
	run(t, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		am := w.am(nil)
		amc := w.app(am.attempt.App).Current().AMContainer
		n.heartbeat(runs(amc))
		r := must[NodeReply](t)(w.HeartbeatNode(NodeCall{
			NodeCaller: atHome, Node: n.node, ResponseID: n.response, Status: NodeStatus{HealthReport: "disks are full"},
		}))
		n.response = r.ResponseID
		a := w.app(am.attempt.App)
		if len(a.Attempts) != 2 || !a.Attempts[0].Excused || a.Current().State != ledger.AttemptScheduled {
			t.Errorf("%d attempts, the last is %v", len(a.Attempts), a.Current().State)
		}
		n.heartbeat()
		if l := <-w.launched; l.Container.Node != n.node {
			t.Errorf("the node got well, and yet %+v", l)
		}
	})
}

// A NodeManager of Hadoop's can't check tokens before it has the keys, which come with the answer to its registration.
func TestNodesOfHadoopGetContainersAfterTheirFirstHeartbeat(t *testing.T) {
	run(t, func(w *world) {
		register := func(containers ...NodeContainer) *peer {
			must[NodeReply](t)(w.RegisterNode(NodeRegistration{
				Node: nodeID(1), HTTPPort: 8042, Capability: records.NewResource(4096, 4), Version: "3.4.2", NodeCaller: atHome,
				Containers: containers,
			}))
			return &peer{w: w, node: nodeID(1)}
		}
		n := register()
		w.submit(nil)
		time.Sleep(5 * time.Second)
		if len(w.launched) > 0 {
			t.Fatal("it was given a container before")
		}
		n.heartbeat()
		am := w.registered(<-w.launched)
		master := runs(records.ContainerID{Attempt: am.attempt, ID: 1})
		n = register(master) // anew
		if got := am.allocate(AllocateCall{Asks: ask(1)}).Grants; len(got) > 0 {
			t.Errorf("granted before the first heartbeat after another registration: %v", got)
		}
		n.heartbeat(master)
		if got := am.allocate(AllocateCall{}).Grants; len(got) != 1 {
			t.Errorf("granted: %v", got)
		}
	})
}

func TestNodesOnPortsOfTheirOwnDontAddUp(t *testing.T) {
	run(t, func(w *world) {
		stays := w.node(0)
		var last records.NodeID
		for i := range noderecords.MaxGone + 50 {
			last = w.node(i + 1)
			if err := w.UnregisterNode(last, atHome); err != nil {
				t.Fatal(err)
			}
		}
		s := w.state()
		if len(s.Nodes) != noderecords.MaxGone+1 || s.Nodes[stays] == nil || s.Nodes[last] == nil || s.Nodes[nodeID(1)] != nil {
			t.Errorf("%d nodes; the first, last and live ones: %v, %v, %v", len(s.Nodes), s.Nodes[nodeID(1)], s.Nodes[last], s.Nodes[stays])
		}
		w.same()
	})
}

// A node that registers twice at once, as when its first call seems lost, is known by one session: that in which it sends heartbeats.
func TestConcurrentFirstRegistrations(t *testing.T) {
	run(t, func(w *world) {
		const calls = 4
		asked, answer := make(chan struct{}), make(chan struct{})
		w.Rack = func(string) string { // all are there before the first goes on
			asked <- struct{}{}
			<-answer
			return "/default-rack"
		}
		done := make(chan error, calls)
		for range calls {
			go func() {
				_, err := w.RegisterNode(NodeRegistration{Node: nodeID(1), Capability: records.NewResource(4096, 4), NodeCaller: atHome})
				done <- err
			}()
		}
		for range calls {
			<-asked
		}
		close(answer)
		for range calls {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		n := &peer{w: w, node: nodeID(1)}
		for range 20 { // more than the node may be silent
			time.Sleep(10 * time.Second)
			if r := n.heartbeat(); r.Action != pb.NodeAction_NORMAL {
				t.Fatalf("%+v", r)
			}
		}
		if s := w.state().Nodes[n.node].State; s != pb.NodeState_NS_RUNNING {
			t.Errorf("the node is %v", s)
		}
		err := w.Do(func() error {
			if got := w.nodeSessions.Get(n.node); got != w.core.nodes[n.node].session || w.nodeSessions.UnderWay() > 0 {
				t.Error("the loop knows another session than heartbeats find")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// A NodeManager of Hadoop's takes containers from its first heartbeat on. Between its registration and that an ask of its size was refused, which a stock
// ResourceManager takes.
func TestTheLargestContainerFollowsARegistrationAtOnce(t *testing.T) {
	run(t, func(w *world) {
		w.node(1)
		am := w.am(nil)
		large := ask(1)
		large[0].SetCapability(records.ResourceTypes{}.PB(records.NewResource(6000, 1)))
		asks := func() error {
			_, err := w.Allocate(am.attempt, AllocateCall{Asks: large, ResponseID: am.response})
			return err
		}
		if asks() == nil {
			t.Fatal("an ask larger than any node was taken")
		}
		register := func() *peer {
			_, err := w.RegisterNode(NodeRegistration{
				Node: nodeID(2), HTTPPort: 8042, Capability: records.NewResource(8192, 4), Version: "3.4.2", NodeCaller: atHome, Names: []string{atHome.Address, nodeID(2).Host},
			})
			if err != nil {
				t.Fatal(err)
			}
			return &peer{w: w, node: nodeID(2)}
		}
		register()
		if err := w.UnregisterNode(nodeID(2), atHome); err != nil {
			t.Fatal(err)
		}
		if asks() == nil {
			t.Error("an ask was taken for a node that has left before its first heartbeat")
		}
		n := register()
		if r := am.allocate(AllocateCall{Asks: large}); len(r.Grants) != 0 {
			t.Fatalf("%+v were granted before the first heartbeat", r.Grants)
		}
		n.heartbeat()
		if r := am.allocate(AllocateCall{}); len(r.Grants) != 1 || r.Grants[0].Node != nodeID(2) {
			t.Errorf("%+v", r)
		}
	})
}
