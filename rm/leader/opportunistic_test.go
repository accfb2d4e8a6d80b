package leader

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heddle/rm/leader/opportunistic"
	"heddle/rm/leader/refusal"
	"heddle/rm/leader/resize"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

func givesOpportunistic(s *Settings) {
	s.Chances = opportunistic.Settings{Enabled: true, NodesUsed: 10, SortInterval: time.Second, Deviations: 1, LeastQueue: 5, MostQueue: 15, PerHeartbeat: -1}
}

func askOpportunistic(count int32) []*pb.ResourceRequest {
	rows := ask(count)
	kind := &pb.ExecutionTypeRequest{}
	kind.SetExecutionType(pb.ExecutionType_OPPORTUNISTIC)
	rows[0].SetExecutionTypeRequest(kind)
	return rows
}

// queues has a node say how many containers wait there, of as many as its queue takes.
func (p *peer) queues(waiting, capacity int, containers ...NodeContainer) NodeReply {
	p.w.t.Helper()
	return p.tell(NodeStatus{Healthy: true, Chances: opportunistic.Status{Waiting: waiting, Capacity: capacity}}, containers...)
}

// Opportunistic containers are sent to the nodes with the shortest queues, are charged to no node, and their queues bound what a million of them get.
func TestOpportunisticContainersGoToShortQueues(t *testing.T) {
	runWorld(t, givesOpportunistic, func(w *world) {
		n1, n2, n3 := &peer{w: w, node: w.node(1)}, &peer{w: w, node: w.node(2)}, &peer{w: w, node: w.node(3)}
		am := w.am(nil)
		n1.queues(0, 4)
		n2.queues(3, 4)
		n3.queues(0, 0)
		r := am.allocate(AllocateCall{Asks: askOpportunistic(1_000_000)})
		on := map[records.NodeID]int{}
		for _, g := range r.Grants {
			on[g.Node]++
			if g.ExecutionType != pb.ExecutionType_OPPORTUNISTIC || g.Resource.MemoryMB() != 1024 || g.Priority != 20 {
				t.Fatalf("%+v", g)
			}
		}
		if on[n1.node] != 4 || on[n2.node] != 1 || len(r.Grants) != 5 {
			t.Errorf("containers by node: %v", on)
		}
		if more := am.allocate(AllocateCall{}).Grants; len(more) != 0 {
			t.Errorf("%d more while the queues are full", len(more))
		}
		used := w.state().Nodes[n1.node].Used.MemoryMB() + w.state().Nodes[n2.node].Used.MemoryMB() + w.state().Nodes[n3.node].Used.MemoryMB()
		if used != w.app(am.attempt.App).AMResource.MemoryMB() {
			t.Errorf("the nodes are charged %d MB", used)
		}
		// An ApplicationMaster that starts none gets no more, however often the nodes say that nothing waits.
		time.Sleep(2 * time.Second)
		n1.queues(1, 4)
		n1.queues(0, 4)
		if more := am.allocate(AllocateCall{}).Grants; len(more) != 0 {
			t.Errorf("%d more while none is started", len(more))
		}
		n1.queues(0, 4, runs(r.Grants[0].ID))
		time.Sleep(2 * time.Second)
		if more := am.allocate(AllocateCall{}).Grants; len(more) != 1 && r.Grants[0].Node == n1.node {
			t.Errorf("%d more for one that has begun", len(more))
		}
		// A guaranteed one fits nevertheless.
		if g := am.allocate(AllocateCall{Asks: ask(2)}).Grants; len(g) != 2 || g[0].ExecutionType != pb.ExecutionType_GUARANTEED {
			t.Errorf("guaranteed: %+v", g)
		}
		// Withdrawn, they come no more.
		am.allocate(AllocateCall{Asks: askOpportunistic(0)})
		n3.queues(0, 4)
		time.Sleep(2 * time.Second)
		if more := am.allocate(AllocateCall{}).Grants; len(more) != 0 {
			t.Errorf("%d more that nobody wants", len(more))
		}
		w.same()
	})
}

// Where they are switched off, requests for opportunistic containers get guaranteed ones, as in YARN.
func TestOpportunisticRequestsWithoutTheSwitch(t *testing.T) {
	run(t, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		am := w.am(nil)
		n.queues(0, 4)
		g := am.allocate(AllocateCall{Asks: askOpportunistic(1)}).Grants
		if len(g) != 1 || g[0].ExecutionType != pb.ExecutionType_GUARANTEED {
			t.Fatalf("%+v", g)
		}
		wish := resize.Wish{ID: g[0].ID, Kind: pb.ContainerUpdateType_DEMOTE_EXECUTION_TYPE}
		if r := am.allocate(AllocateCall{Updates: []resize.Wish{wish}}).Unresized; len(r) != 1 || !strings.Contains(r[0].Reason, "GUARANTEED") {
			t.Errorf("%+v", r)
		}
	})
}

// A promotion takes room of the node, waits for that if need be, and a demotion gives it back, which the node is told at once. A new leader knows both.
func TestPromotionAndDemotion(t *testing.T) {
	runWorld(t, givesOpportunistic, func(w *world) {
		_ = w.Do(func() error {
			w.Enter(&ledgerpb.Command{LedgerVersionRaised: &ledgerpb.LedgerVersionRaised{Version: ledger.Version}})
			return nil
		})
		n := &peer{w: w, node: w.nodeOf(1, records.NewResource(2560, 4))}
		am := w.am(nil)
		n.queues(0, 4)
		g := am.allocate(AllocateCall{Asks: askOpportunistic(1)}).Grants[0]
		full := am.allocate(AllocateCall{Asks: ask(2)}).Grants // the ApplicationMaster has 512 MB, this one 1024, the other waits
		master := w.app(am.attempt.App).Current().AMContainer
		n.queues(0, 4, runs(master), runs(g.ID), runs(full[0].ID))
		am.allocate(AllocateCall{Asks: ask(0)})
		change := func(id records.ContainerID, version int32, kind pb.ContainerUpdateType) AllocateReply {
			return am.allocate(AllocateCall{Updates: []resize.Wish{{ID: id, Version: version, Kind: kind}}})
		}
		const promote, demote = pb.ContainerUpdateType_PROMOTE_EXECUTION_TYPE, pb.ContainerUpdateType_DEMOTE_EXECUTION_TYPE
		if len(full) != 2 {
			t.Fatalf("%d guaranteed ones", len(full))
		}
		n.queues(0, 4, runs(master), runs(g.ID), runs(full[0].ID), runs(full[1].ID))
		if r := change(g.ID, 0, promote); len(r.Resized)+len(r.Unresized) != 0 {
			t.Fatalf("promoted on a full node: %+v", r)
		}
		if r := change(g.ID, 0, promote); len(r.Unresized) != 1 {
			t.Errorf("asked twice: %+v", r)
		}
		r := change(full[0].ID, 0, demote)
		told := map[records.ContainerID]Resized{}
		for _, x := range append(r.Resized, am.allocate(AllocateCall{}).Resized...) {
			told[x.Grant.ID] = x
		}
		if x := told[full[0].ID]; x.Kind != demote || x.Grant.ExecutionType != pb.ExecutionType_OPPORTUNISTIC || x.Grant.Version != 1 {
			t.Errorf("demoted: %+v", x)
		}
		if x := told[g.ID]; x.Kind != promote || x.Grant.ExecutionType != pb.ExecutionType_GUARANTEED || x.Grant.Version != 1 {
			t.Errorf("promoted: %+v", x)
		}
		if orders := n.queues(0, 4, runs(master), runs(g.ID), runs(full[0].ID), runs(full[1].ID)).Resized; len(orders) != 1 || orders[0].ID != full[0].ID {
			t.Errorf("the node is told %+v", orders)
		}
		if r := change(g.ID, 1, promote); len(r.Unresized)+len(r.Resized) != 0 {
			t.Errorf("a guaranteed one is promoted, of which YARN says nothing: %+v", r)
		}
		if r := change(master, 0, demote); len(r.Unresized) != 1 {
			t.Errorf("an ApplicationMaster is demoted: %+v", r)
		}
		w.same()

		w.depose()
		w.lead()
		w.node(1, runs(master), runs(g.ID), runs(full[0].ID), runs(full[1].ID))
		if s := w.state(); s.Nodes[n.node].Used.MemoryMB() != 512+2*1024 || s.Container(full[0].ID).ExecutionType != pb.ExecutionType_OPPORTUNISTIC {
			t.Errorf("after a change of leaders the node is charged %v", s.Nodes[n.node].Used)
		}
	})
}

// A new leader gives a node no more than its queue takes beyond those that an earlier one has sent there and that are not started.
func TestANewLeaderCountsWhatWasSent(t *testing.T) {
	runWorld(t, givesOpportunistic, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		am := w.am(nil)
		n.queues(0, 3)
		sent := am.allocate(AllocateCall{Asks: askOpportunistic(2)}).Grants
		if len(sent) != 2 {
			t.Fatalf("%d", len(sent))
		}
		master := w.app(am.attempt.App).Current().AMContainer
		w.depose()
		w.lead()
		n = &peer{w: w, node: w.node(1, runs(master))}
		n.queues(0, 3, runs(master))
		must[Registration](t)(w.Register(am.attempt, "host", 4711, ""))
		am = &peer{w: w, attempt: am.attempt}
		if got := am.allocate(AllocateCall{Asks: askOpportunistic(5)}).Grants; len(got) != 1 {
			t.Errorf("%d more", len(got))
		}
		n.queues(0, 3, runs(master), runs(sent[0].ID), runs(sent[1].ID))
		w.same()
	})
}

// The node that dies takes its opportunistic containers along, and they are told; so is the limit of queues.
func TestOpportunisticContainersOfALostNode(t *testing.T) {
	runWorld(t, givesOpportunistic, func(w *world) {
		n1, n2 := &peer{w: w, node: w.node(1)}, &peer{w: w, node: w.node(2)}
		am := w.am(nil)
		n2.queues(0, 3)
		sent := am.allocate(AllocateCall{Asks: askOpportunistic(2)}).Grants
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if l := n2.queues(1, 3).QueueLimit; l == nil || *l != 5 {
			t.Errorf("the limit is %v", l)
		}
		if err := w.UnregisterNode(n2.node, atHome); err != nil {
			t.Fatal(err)
		}
		n1.queues(0, 0)
		if done := am.allocate(AllocateCall{}).Completed; len(done) != len(sent) || done[0].Execution != pb.ExecutionType_OPPORTUNISTIC {
			t.Errorf("%+v", done)
		}
		w.same()
	})
}

// Requests of a hostile ApplicationMaster are bounded in number, places and size.
func TestOpportunisticRequestsAreBounded(t *testing.T) {
	runWorld(t, func(s *Settings) {
		givesOpportunistic(s)
		s.MaxRequests, s.MaxPlaces = 10, 10
	}, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		am := w.am(nil)
		n.queues(0, math.MaxInt32)
		rows := func(n int, change func(i int, r *pb.ResourceRequest)) (all []*pb.ResourceRequest) {
			for i := range n {
				r := askOpportunistic(1)[0]
				change(i, r)
				all = append(all, r)
			}
			return all
		}
		for name, all := range map[string][]*pb.ResourceRequest{
			"ids":    rows(11, func(i int, r *pb.ResourceRequest) { r.SetAllocationRequestId(int64(i)) }),
			"places": rows(11, func(i int, r *pb.ResourceRequest) { r.SetResourceName(strings.Repeat("h", i+1)) }),
			"sizes": rows(11, func(i int, r *pb.ResourceRequest) {
				r.SetCapability(records.ResourceTypes{}.PB(records.NewResource(int64(256*(i+1)), 1)))
			}),
			"huge": rows(1, func(_ int, r *pb.ResourceRequest) {
				r.SetCapability(records.ResourceTypes{}.PB(records.NewResource(math.MaxInt64, 1)))
			}),
		} {
			_, err := w.Allocate(am.attempt, AllocateCall{ResponseID: am.response, Asks: all})
			if !refusal.Is(err, refusal.InvalidResource) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
