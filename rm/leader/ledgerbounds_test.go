package leader

import (
	"fmt"
	"strings"
	"testing"

	"heddle/rm/leader/refusal"
	"heddle/rm/ledger/limit"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// submitAs has a user submit an application with so many bytes of context.
func (w *world) submitAs(user string, bytes int) (records.ApplicationID, error) {
	w.t.Helper()
	id, _, err := w.NewApplication(user)
	if err != nil {
		w.t.Fatal(err)
	}
	return id, w.Submit(user, submission(id, withContext(bytes)))
}

// The contexts of applications that wait had no bound: one user's filled the memory of all ResourceManagers. Now a user has a bound, and so
// have all; what ends makes room.
func TestContextsAreBoundedForAUserAndInAll(t *testing.T) {
	runWorld(t, func(s *Settings) { s.Bounds = limit.Bounds{UserBytes: 4 << 20, LiveBytes: 7_000_000} }, func(w *world) {
		var mine []records.ApplicationID
		for range 4 {
			id, err := w.submitAs("alice", 900_000)
			if err != nil {
				t.Fatal(err)
			}
			mine = append(mine, id)
		}
		_, err := w.submitAs("alice", 900_000)
		if !refusal.Is(err, refusal.Refused) || !strings.Contains(err.Error(), "user alice") || !strings.Contains(err.Error(), "heddle.applications.max-user-percent") {
			t.Errorf("alice's fifth: %v", err)
		}
		if _, err := w.submitAs("alice", 100); err != nil {
			t.Errorf("one that still fits: %v", err)
		}
		for i := range 4 {
			if _, err := w.submitAs(fmt.Sprint("user", i), 900_000); (err == nil) != (i < 3) {
				t.Errorf("the %d. of all: %v", 5+i, err)
			} else if err != nil && (!refusal.Is(err, refusal.Refused) || !strings.Contains(err.Error(), "heddle.applications.max-mb")) {
				t.Error(err)
			}
		}
		if err := w.Kill(mine[0], "enough"); err != nil {
			t.Fatal(err)
		}
		if _, err := w.submitAs("alice", 900_000); err != nil {
			t.Errorf("after one has ended: %v", err)
		}
		if own, all := w.state().Kept.Live("alice"); own > 4<<20 || all > 7_000_000 {
			t.Errorf("alice has %d bytes, and all have %d", own, all)
		}
		w.depose()
		w.lead() // counts what the ledger has
		if _, err := w.submitAs("alice", 900_000); !refusal.Is(err, refusal.Refused) {
			t.Errorf("after a change of leaders: %v", err)
		}
	})
}

// Ordinary loads don't meet the bounds of a machine with 16 GB: an application server with thousands of tokens, and 10,000 applications of one user
// with 100 KB each.
func TestOrdinaryLoadsAreWithinTheBounds(t *testing.T) {
	b := limit.Standard(16<<30, 0, 50)
	ctx := submission(records.ApplicationID{ClusterTimestamp: 1, ID: 1}, withContext(100<<10))
	if takes := limit.Footprint(ctx); limit.Over(b.UserBytes, 10_000*(takes+4<<10)) {
		t.Errorf("10,000 times %d bytes, and %d may be", takes, b.UserBytes)
	}
	if b.LiveBytes > 4<<30 || b.UserBytes != b.LiveBytes/2/100*100 && b.UserBytes > b.LiveBytes/2 {
		t.Errorf("%+v is more than a quarter of 16 GB", b)
	}
	if large := limit.Standard(1<<40, 0, 50); large.LiveBytes != 8<<30 {
		t.Errorf("on a large machine: %+v", large)
	}
	if set := limit.Standard(1<<30, 2<<30, 100); set.LiveBytes != 2<<30 || limit.Over(set.UserBytes, 2<<30-100) {
		t.Errorf("as configured: %+v", set)
	}
}

// What ApplicationMasters and nodes say can't be refused. It is cut short once a user, or all nodes, have left too much behind.
func TestTextsAreShortOnceTheirBoundIsReached(t *testing.T) {
	for name, bounds := range map[string]limit.Bounds{"below": {UserBytes: 1 << 30, NodeBytes: 1 << 30}, "above": {UserBytes: 200_000, NodeBytes: 1}} {
		t.Run(name, func(t *testing.T) {
			runWorld(t, func(s *Settings) { s.Bounds = bounds }, func(w *world) {
				text, most := strings.Repeat("d", 50_000), 50_000
				if name == "above" {
					most = limit.MaxBrief
				}
				n := &peer{w: w, node: w.nodeOf(1, records.NewResource(1<<20, 1000))}
				am := w.am(withContext(190_000))
				grants := am.allocate(AllocateCall{Asks: ask(3)}).Grants
				var ends []NodeContainer
				for i := range grants {
					ends = append(ends, NodeContainer{ID: grants[i].ID, State: pb.ContainerState_C_COMPLETE, ExitStatus: 1, Diagnostics: text})
				}
				n.heartbeat(ends...)
				done := am.allocate(AllocateCall{}).Completed
				if len(done) != 3 || len(done[2].Diagnostics) > most || len(done[2].Diagnostics) < most/2 {
					t.Errorf("%d ends, the last one says %d bytes", len(done), len(done[len(done)-1].Diagnostics))
				}
				n.tell(NodeStatus{HealthReport: text})
				if got := len(w.state().Nodes[n.node].HealthReport); got > most || got < most/2 {
					t.Errorf("a health report of %d bytes", got)
				}
			})
		})
	}
}

// Anybody who reaches the port may register as any number of nodes.
func TestNodesAreBounded(t *testing.T) {
	for name, bounds := range map[string]limit.Bounds{"their number": {Nodes: 3}, "their bytes": {NodeBytes: 3100}} {
		t.Run(name, func(t *testing.T) {
			runWorld(t, func(s *Settings) { s.Bounds = bounds }, func(w *world) {
				register := func(host string) NodeReply {
					reply, err := w.RegisterNode(NodeRegistration{
						Node: records.NodeID{Host: host, Port: 1}, Capability: records.NewResource(4096, 4), NodeCaller: atHome, Instance: host,
					})
					if err != nil {
						t.Fatal(err)
					}
					return reply
				}
				for i := range 3 {
					if reply := register(fmt.Sprint("n", i)); reply.Action != pb.NodeAction_NORMAL {
						t.Errorf("node %d: %+v", i, reply)
					}
				}
				if reply := register("n4"); reply.Action != pb.NodeAction_SHUTDOWN || !strings.Contains(reply.Diagnostics, "nodes.include-path") {
					t.Errorf("one too many: %+v", reply)
				}
				if reply := register("n1"); reply.Action != pb.NodeAction_NORMAL {
					t.Errorf("one that is known: %+v", reply)
				}
			})
		})
	}
}

// Ended applications keep texts and lists of rights. The oldest are forgotten when they take too much, whatever their number.
func TestHistoryIsBoundedByBytes(t *testing.T) {
	runWorld(t, func(s *Settings) { s.MaxCompleted, s.Bounds = 1000, limit.Bounds{EndedBytes: 300_000} }, func(w *world) {
		var last records.ApplicationID
		for range 20 {
			id, _, err := w.NewApplication("alice")
			if err != nil {
				t.Fatal(err)
			}
			rights := &pb.ApplicationACLMap{}
			rights.SetAccessType(pb.ApplicationAccessType_APPACCESS_VIEW_APP)
			rights.SetAcl(strings.Repeat("u,", 25_000))
			if err := w.Submit("alice", submission(id, func(ctx *pb.ApplicationSubmissionContext) {
				ctx.GetAmContainerSpec().SetApplication_ACLs([]*pb.ApplicationACLMap{rights})
			})); err != nil {
				t.Fatal(err)
			}
			if err := w.Kill(id, "enough"); err != nil {
				t.Fatal(err)
			}
			last = id
		}
		s := w.state()
		if n := s.Kept.Ended(); n > 300_000 || len(s.Apps) < 4 || s.Apps[last] == nil {
			t.Errorf("%d ended applications take %d bytes", len(s.Apps), n)
		}
	})
}
