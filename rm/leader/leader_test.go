package leader

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

func TestNewLeaderKeepsContainers(t *testing.T) {
	run(t, func(w *world) {
		w.node(1)
		am := w.am(nil)
		r := am.allocate(AllocateCall{Asks: ask(2)})
		kept, granted := r.Grants[0].ID, r.Grants[1].ID
		n := &peer{w: w, node: nodeID(1)}
		amc := w.app(am.attempt.App).Current().AMContainer
		n.heartbeat(runs(amc), runs(kept))

		w.depose()
		w.lead()
		if _, err := w.Allocate(am.attempt, AllocateCall{ResponseID: am.response}); !refusal.Is(err, refusal.NotRegistered) {
			t.Fatalf("an ApplicationMaster that didn't register again: %v", err)
		}
		if r := must[NodeReply](t)(w.HeartbeatNode(NodeCall{NodeCaller: atHome, Node: n.node, ResponseID: 1})); r.Action != pb.NodeAction_RESYNC {
			t.Fatalf("a node that didn't register again: %+v", r)
		}
		if a := w.app(am.attempt.App); a.State != ledger.AppRunning || a.Live != 3 {
			t.Errorf("after the change of leaders: %v with %d containers", a.State, a.Live)
		}
		am.response = 0
		must[Registration](t)(w.Register(am.attempt, "host", 4711, ""))
		r = am.allocate(AllocateCall{Asks: ask(1)})
		if len(r.Grants) != 1 || r.Grants[0].ID.Epoch() != 1 || r.Grants[0].ID.Sequence() != 4 {
			t.Errorf("the new leader grants at once, with an epoch: %+v", r.Grants)
		}
		w.node(1, runs(amc), runs(kept))
		if c := w.state().Container(granted); c == nil || !c.Live() {
			t.Errorf("%v was granted, and is forgotten because it had not been started", granted)
		}
		if a := w.app(am.attempt.App); a.Live != 4 {
			t.Errorf("%d containers live, want 4", a.Live)
		}
		w.same()
	})
}

// An ApplicationMaster never hears of a container if the leader that granted it was lost before it answered. A new leader takes back what isn't
// started soon, and waits as long again where it can't know yet, because the node has not come back.
func TestNewLeaderTakesBackWhatNobodyStarts(t *testing.T) {
	run(t, func(w *world) {
		there := &peer{w: w, node: w.node(1)}
		am := w.am(nil)
		away, amc := w.node(2), w.app(am.attempt.App).Current().AMContainer
		for len(w.onNode(there.node)) < 2 || len(w.onNode(away)) == 0 {
			am.allocate(AllocateCall{Asks: ask(1)})
		}
		started := w.onNode(there.node)[0]
		there.heartbeat(runs(amc), runs(started))

		w.depose()
		w.lead()
		am.response = 0
		must[Registration](t)(w.Register(am.attempt, "host", 4711, ""))
		w.node(1, runs(amc), runs(started))
		there.response = 0
		within := func(d time.Duration) (done []records.ContainerID) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second) {
				there.heartbeat()
				for _, c := range am.allocate(AllocateCall{}).Completed {
					done = append(done, c.ID)
				}
			}
			return done
		}
		unused, elsewhere := len(w.onNode(there.node))-1, len(w.onNode(away))
		if done := within(inheritedExpiry - 2*time.Second); len(done) > 0 {
			t.Errorf("taken back too soon: %v", done)
		}
		if done := within(5 * time.Second); len(done) != unused || slices.Contains(done, started) {
			t.Errorf("taken back: %v, where %d are unused beside %v", done, unused, started)
		}
		if n := len(w.onNode(away)); n != elsewhere {
			t.Errorf("%d containers on a node that isn't back, want %d", n, elsewhere)
		}
		w.node(2)
		if done := within(inheritedExpiry); len(done) != elsewhere || len(w.onNode(away)) > 0 {
			t.Errorf("taken back after its node has come: %v, want %d", done, elsewhere)
		}
	})
}

// onNode returns the containers on a node, but for those of ApplicationMasters.
func (w *world) onNode(id records.NodeID) (ids []records.ContainerID) {
	state := w.state()
	for c := range state.On(state.Nodes[id]) {
		if !c.AM {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

func TestTwinsAreRefused(t *testing.T) {
	run(t, func(w *world) {
		w.node(1)
		twin := NodeRegistration{Node: nodeID(1), Capability: records.NewResource(4096, 4), NodeCaller: NodeCaller{Address: "10.0.0.2"}}
		r := must[NodeReply](t)(w.RegisterNode(twin))
		if r.Action != pb.NodeAction_SHUTDOWN || !strings.Contains(r.Diagnostics, "is registered already, from 10.0.0.1, and alive; this one came from 10.0.0.2") {
			t.Errorf("a twin: %+v", r)
		}
		time.Sleep(4 * time.Second)
		if r := must[NodeReply](t)(w.RegisterNode(twin)); r.Action != pb.NodeAction_NORMAL {
			t.Errorf("the node moved after it fell silent: %+v", r)
		}
		small := NodeRegistration{Node: nodeID(2), Capability: records.NewResource(100, 1)}
		if r := must[NodeReply](t)(w.RegisterNode(small)); r.Action != pb.NodeAction_SHUTDOWN {
			t.Errorf("a node below the minimum: %+v", r)
		}
	})
}

func TestDeposedLeaderAnswersNobody(t *testing.T) {
	run(t, func(w *world) {
		w.node(1)
		am := w.am(nil)
		w.mu.Lock()
		w.lost = true
		w.mu.Unlock()
		if _, err := w.Allocate(am.attempt, AllocateCall{ResponseID: am.response, Asks: ask(1)}); !errors.Is(err, ErrDeposed) {
			t.Errorf("a grant that nobody will remember was made: %v", err)
		}
		if _, _, err := w.NewApplication("alice"); !errors.Is(err, ErrDeposed) {
			t.Errorf("an id that nobody will remember was handed out: %v", err)
		}
		w.depose()
		w.lead()
		if a := w.app(am.attempt.App); a.Live != 1 {
			t.Errorf("%d containers", a.Live)
		}
	})
}

func TestKeysRollWithoutBreakingTokens(t *testing.T) {
	run(t, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		first := w.Keys(ledgerpb.KeyKind_NM).Current
		beat := func(d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(30 * time.Second) {
				n.heartbeat()
			}
		}
		beat(24*time.Hour + time.Minute)
		ring := w.Keys(ledgerpb.KeyKind_NM)
		if ring.Current.ID != first.ID || ring.Next.Secret == nil {
			t.Fatalf("a key signs before nodes have it: %+v", ring)
		}
		if am := w.Keys(ledgerpb.KeyKind_AM_RM); am.Previous.Secret == nil {
			t.Errorf("a key that only we check waits: %+v", am)
		}
		next := ring.Next.ID
		beat(4 * time.Minute)
		if ring := w.Keys(ledgerpb.KeyKind_NM); ring.Current.ID != next || ring.Previous.ID != first.ID {
			t.Errorf("after every node has the key: %+v", ring)
		}
	})
}

// What an ApplicationMaster gives back at once is one command, also where it lies on several nodes.
func TestReleasesAreOneCommand(t *testing.T) {
	run(t, func(w *world) {
		w.node(1)
		w.node(2)
		am := w.am(nil)
		granted := am.allocate(AllocateCall{Asks: ask(6)}).Grants
		var release []records.ContainerID
		for _, g := range granted {
			release = append(release, g.ID)
		}
		before := len(w.batches)
		r := am.allocate(AllocateCall{Releases: append(release, release[0])})
		if len(granted) != 6 || len(r.Completed) != 6 {
			t.Fatalf("%d granted, %d ended", len(granted), len(r.Completed))
		}
		var ends []int
		for _, b := range w.batches[before:] {
			for _, c := range b.Commands {
				if c.ContainersCompleted != nil {
					ends = append(ends, len(c.ContainersCompleted.Completions))
				}
			}
		}
		if !slices.Equal(ends, []int{6}) {
			t.Errorf("commands of %v ends", ends)
		}
		cleanup := 0
		for i := range 2 {
			n := &peer{w: w, node: nodeID(i + 1)}
			cleanup += len(n.heartbeat().Cleanup)
		}
		if cleanup != 6 {
			t.Errorf("nodes are to end %d", cleanup)
		}
		if a := w.app(am.attempt.App); a.Live != 1 {
			t.Errorf("%d live", a.Live)
		}
		w.same()
	})
}
