package leader

import (
	"sync/atomic"
	"testing"
	"time"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
)

// goesOn has a node and an ApplicationMaster be there for a while, and complains if one is given up.
func (w *world) goesOn(n, am *peer, seconds int) {
	w.t.Helper()
	for range seconds {
		time.Sleep(time.Second)
		if r := n.heartbeat(); r.Action != pb.NodeAction_NORMAL {
			w.t.Fatalf("the node is told %v: %s", r.Action, r.Diagnostics)
		}
		am.allocate(AllocateCall{})
	}
	if s := w.state().Nodes[n.node].State; s != pb.NodeState_NS_RUNNING {
		w.t.Errorf("the node is %v", s)
	}
	if a := w.app(am.attempt.App); a.State.Ended() || len(a.Attempts) != 1 {
		w.t.Errorf("the application is %v, in its attempt %d", a.State, len(a.Attempts))
	}
}

// Whatever the clock on the wall is set to, nobody is given up who is there, and what is recorded never goes back in time.
func TestWallClockThatSteps(t *testing.T) {
	for name, step := range map[string]time.Duration{"forward": time.Hour, "back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			run(t, func(w *world) {
				n := &peer{w: w, node: w.node(1)}
				am := w.am(nil)
				w.goesOn(n, am, 3)
				w.ahead.Store(int64(step))
				w.goesOn(n, am, 180)
				last := int64(0)
				for _, b := range w.batches {
					if b.GetTime() < last {
						t.Errorf("a batch is of %d, and the next of %d", last, b.GetTime())
					}
					last = b.GetTime()
				}
				if got := time.Until(w.Now()); got.Abs() < 15*time.Second || got.Abs() > 20*time.Second || got < 0 != (step < 0) {
					t.Errorf("after 3 minutes the clock has gone %v of the way to the wall's", got)
				}
			})
		})
	}
}

// A delay for locality of a scheduler ends when its time is over, also if the wall clock goes back meanwhile.
func TestDelaysOutlastNoStep(t *testing.T) {
	run(t, func(w *world) {
		before := w.Now()
		w.ahead.Store(-int64(time.Hour))
		time.Sleep(time.Minute)
		if passed := w.Now().Sub(before); passed < 50*time.Second || passed > time.Minute {
			t.Errorf("a minute took %v", passed)
		}
	})
}

// A machine that slept takes nobody for silent: those whom it couldn't hear get all their time from when it wakes up.
func TestMachineThatSlept(t *testing.T) {
	var slept atomic.Int64
	run(t, func(w *world) {
		w.depose()
		begun := time.Now()
		w.passes = func() time.Duration { return time.Since(begun) + time.Duration(slept.Load()) }
		w.lead()
		n := &peer{w: w, node: w.node(1)}
		am := w.am(nil)
		w.goesOn(n, am, 3)
		slept.Store(int64(8 * time.Hour))
		w.ahead.Store(slept.Load())
		w.goesOn(n, am, 10)
		for range 3 { // silent after it, as a node may be that slept with it
			time.Sleep(30 * time.Second)
			am.allocate(AllocateCall{})
		}
		w.goesOn(n, am, 1)
		time.Sleep(3 * time.Minute)
		if s := w.state().Nodes[n.node].State; s != pb.NodeState_NS_LOST {
			t.Errorf("a node that is really silent is %v", s)
		}
	})
}

// After a standstill of a minute a lifetime of 15 s ended after 64 s, and what ended then was dated a minute too early.
func TestLifetimesEndDuringAStandstill(t *testing.T) {
	var stood atomic.Int64
	run(t, func(w *world) {
		w.depose()
		begun := time.Now()
		w.passes = func() time.Duration { return time.Since(begun) + time.Duration(stood.Load()) }
		w.lead()
		n := &peer{w: w, node: w.node(1)}
		am := w.am(nil)
		mortal := w.submit(func(c *pb.ApplicationSubmissionContext) {
			to := &pb.ApplicationTimeoutMap{}
			to.SetApplicationTimeoutType(pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME)
			to.SetTimeout(15)
			c.SetApplicationTimeouts([]*pb.ApplicationTimeoutMap{to})
		})
		w.goesOn(n, am, 3)
		stood.Store(int64(time.Minute))
		w.ahead.Store(stood.Load())
		w.goesOn(n, am, 3) // nobody was silent
		a := w.app(mortal)
		if !a.State.Ended() {
			t.Fatalf("the application is %v", a.State)
		}
		if late := a.FinishTime - a.Expires; late < 45_000 || late > 55_000 {
			t.Errorf("it ended %d ms after its lifetime, and the standstill ended 48 s after", late)
		}
		w.submit(nil)
		if off := w.Date().Sub(time.Now().Add(time.Minute)); off.Abs() > time.Second {
			t.Errorf("dates are off by %v", off)
		}
	})
}

// An ApplicationMaster that is suspended for long isn't given up, and keeps what it was granted and couldn't start. Neither is it by the next leader. Once it goes on it has time
// to speak, and only then is taken for dead.
func TestSuspendedMastersAreNotSilent(t *testing.T) {
	run(t, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		p := w.am(nil)
		c := p.allocate(AllocateCall{Asks: ask(1)}).Grants[0].ID
		am := w.app(p.attempt.App).Current().AMContainer
		n.heartbeat(runs(am))
		stands := func(minutes int) {
			t.Helper()
			for range minutes {
				time.Sleep(time.Minute)
				n.heartbeat(runs(am))
			}
			if a := w.app(p.attempt.App); a.State.Ended() || len(a.Attempts) != 1 || !a.Containers.Get(am).Live() {
				t.Fatalf("the application is %v, in its attempt %d", a.State, len(a.Attempts))
			}
			if s := w.state().Container(c).State; s != ledger.ContainerAllocated {
				t.Fatalf("what was granted is %v", s)
			}
		}
		w.raise()
		level := func(l ledgerpb.Level) { // as preemption has it
			t.Helper()
			if err := w.Do(func() error {
				c := w.work.Container(am)
				w.Enter(c.ChangeLevel(l, c.Resource, ledger.Cause{}))
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		level(ledgerpb.Level_FROZEN)
		stands(12)
		w.depose()
		w.lead()
		n = &peer{w: w, node: w.node(1, runs(am))}
		n.heartbeat(runs(am))
		stands(12)
		level(ledgerpb.Level_RUNNING)
		time.Sleep(29 * time.Second)
		stands(0)
		time.Sleep(32 * time.Second)
		if a := w.app(p.attempt.App); len(a.Attempts) != 2 {
			t.Errorf("after it was silent for a minute it is still in its attempt %d", len(a.Attempts))
		}
	})
}
