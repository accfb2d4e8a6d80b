package leader

import (
	"sync/atomic"
	"testing"
	"time"

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
