package leader

import (
	"context"
	"errors"
	"testing"
	"time"

	"heddle/rm/leader/level"
	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// answering has nodes answer orders as a test says, after they have done them or not.
type answering struct {
	nodes
	suspend func(records.ContainerID) error
}

func (a answering) Suspend(ctx context.Context, n records.NodeID, at records.AttemptID, id records.ContainerID) error {
	if err := a.suspend(id); err != nil {
		return err
	}
	return a.nodes.Suspend(ctx, n, at, id)
}

func (a answering) Order(ctx context.Context, n records.NodeID, o level.Order) error {
	if err := a.suspend(o.Container); err != nil {
		return err
	}
	return a.nodes.Order(ctx, n, o)
}

func (w *world) isFrozen(id records.ContainerID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.frozen[id]
}

func sub(id records.ContainerID, s pb.ContainerSubState) NodeContainer {
	return NodeContainer{ID: id, State: pb.ContainerState_C_RUNNING, Sub: s}
}

// task is a container that runs.
func (w *world) task() (n *peer, am, id records.ContainerID) {
	w.t.Helper()
	n = &peer{w: w, node: w.node(1)}
	p := w.am(nil)
	id = p.allocate(AllocateCall{Asks: ask(1)}).Grants[0].ID
	am = w.app(p.attempt.App).Current().AMContainer
	n.heartbeat(runs(am), sub(id, pb.ContainerSubState_CSS_RUNNING))
	return n, am, id
}

func TestSuspensionIsOnRecordBeforeTheNodeIsTold(t *testing.T) {
	run(t, func(w *world) {
		_, am, id := w.task()
		w.Launcher = answering{nodes{w}, func(id records.ContainerID) error {
			if !w.state().Container(id).Suspended() {
				t.Error("the node is told of what isn't on record")
			}
			return errors.New("no route to host")
		}}
		if err := w.Suspend(context.Background(), id, level.Wish{}); err == nil || !w.state().Container(id).Suspended() {
			t.Errorf("unheard: %v", err)
		}
		w.depose() // before the node has heard it
		w.lead()
		n := &peer{w: w, node: w.node(1, runs(am), runs(id))}
		n.heartbeat(runs(am), sub(id, pb.ContainerSubState_CSS_RUNNING))
		time.Sleep(2 * time.Second)
		if !w.isFrozen(id) || !w.state().Container(id).Suspended() {
			t.Error("the next leader doesn't bring the node to what is on record")
		}
		w.same()
	})
}

// Once all members can apply levels, suspension is one: a container holds what it held before. The next leader has room wait for it, and it
// goes on with its claim.
func TestSuspensionLeavesWhatAContainerHolds(t *testing.T) {
	run(t, func(w *world) {
		_, am, id := w.task()
		half := records.NewResource(512, 1)
		if err := w.Do(func() error {
			w.Enter(&ledgerpb.Command{LedgerVersionRaised: &ledgerpb.LedgerVersionRaised{Version: ledger.Version}})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		expect := func(level ledgerpb.Level, held records.Resource, version int32) {
			t.Helper()
			if c := w.state().Container(id); c.Level != level || c.Held() != held || c.LevelVersion != version {
				t.Errorf("%v with %v, version %d", c.Level, c.Held(), c.LevelVersion)
			}
			_ = w.Do(func() error {
				h, _ := handleOf(w.work.Container(id))
				if got := w.sched.Held(h); got != held {
					t.Errorf("the scheduler has it take %v", got)
				}
				return nil
			})
			w.same()
		}
		change := func(change func(ctx context.Context, id records.ContainerID) error) {
			t.Helper()
			if err := change(context.Background(), id); err != nil {
				t.Error(err)
			}
		}
		whole := w.state().Container(id).Resource
		suspend := func(ctx context.Context, id records.ContainerID) error {
			return w.Suspend(ctx, id, level.Wish{User: "u"})
		}
		change(suspend)
		if err := suspend(context.Background(), id); !refusal.Is(err, refusal.Refused) {
			t.Errorf("suspended twice: %v", err)
		}
		expect(ledgerpb.Level_FROZEN, whole, 1)
		change(w.Resume)
		expect(ledgerpb.Level_RUNNING, whole, 2)
		if err := w.Do(func() error {
			c := w.work.Container(id)
			h, _ := handleOf(c)
			w.sched.Apply(&eventlog.Event{Op: eventlog.SetHeld, Container: h, Resource: eventlog.Amounts(half)})
			w.Enter(c.ChangeLevel(ledgerpb.Level_SHRUNK, half, ledger.Cause{User: "u"}))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		change(suspend)
		expect(ledgerpb.Level_FROZEN, half, 4)
		w.depose()
		w.lead()
		time.Sleep(10 * time.Second)
		expect(ledgerpb.Level_FROZEN, half, 4) // who was suspended by a user doesn't resume by itself
		w.node(1, runs(am), runs(id))
		change(w.Resume)
		expect(ledgerpb.Level_RUNNING, whole, 5)
	})
}

func TestOrdersThatNodesDontHearAreRepeated(t *testing.T) {
	run(t, func(w *world) {
		_, _, id := w.task()
		calls := 0
		w.Launcher = answering{nodes{w}, func(records.ContainerID) error {
			if calls++; calls < 3 {
				return errors.New("connection reset")
			}
			return nil
		}}
		if err := w.Suspend(context.Background(), id, level.Wish{}); err == nil {
			t.Error("no word of a node that didn't hear it")
		}
		time.Sleep(20 * time.Second)
		if !w.isFrozen(id) || calls != 3 {
			t.Errorf("after %d calls it runs on", calls)
		}
	})
}

func TestOrdersThatNodesRefuseAreTakenBack(t *testing.T) {
	run(t, func(w *world) {
		n, am, id := w.task()
		w.Launcher = answering{nodes{w}, func(records.ContainerID) error { return refusal.New(refusal.Refused, "it doesn't stop") }}
		if err := w.Suspend(context.Background(), id, level.Wish{}); !refusal.Is(err, refusal.Refused) || w.state().Container(id).Suspended() {
			t.Errorf("%v", err)
		}
		// what an ApplicationMaster has asked the node for goes on record
		n.heartbeat(runs(am), sub(id, pb.ContainerSubState_CSS_PAUSED))
		if !w.state().Container(id).Suspended() {
			t.Error("a container that its ApplicationMaster has suspended runs on record")
		}
		n.heartbeat(runs(am), sub(id, pb.ContainerSubState_CSS_RUNNING))
		if w.state().Container(id).Suspended() {
			t.Error("a container that goes on is suspended on record")
		}
		w.same()
	})
}
