package leader

import (
	"strings"
	"testing"
	"time"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/queue/suspension"
	"heddle/yarn/pb"
)

// Others count on the end of an application by its lifetime, and clients are shown that date: it doesn't move while the application's containers are
// suspended for others.
func TestALifetimeRunsOnDuringASuspension(t *testing.T) {
	const lifetime = 60 // seconds
	runWorld(t, suspending(t, suspension.Immediate), func(w *world) {
		w.raise()
		n := w.ableNode(roomy, everything)
		rich := w.am(func(c *pb.ApplicationSubmissionContext) {
			c.SetQueue("root.a")
			to := &pb.ApplicationTimeoutMap{}
			to.SetApplicationTimeoutType(pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME)
			to.SetTimeout(lifetime)
			c.SetApplicationTimeouts([]*pb.ApplicationTimeoutMap{to})
		})
		var running []NodeContainer
		for _, g := range rich.allocate(AllocateCall{Asks: ask(3)}).Grants {
			running = append(running, runs(g.ID))
		}
		n.heartbeat(running...)
		starved := w.am(to("root.b"))
		starved.allocate(AllocateCall{Asks: ask(1)})
		suspended := 0
		for w.app(rich.attempt.App).Expires-w.Date().UnixMilli() > 2000 {
			time.Sleep(time.Second)
			n.heartbeat(running...)
			starved.allocate(AllocateCall{})
			rich.allocate(AllocateCall{})
			for c := range w.app(rich.attempt.App).Containers.All() {
				if c.Live() && c.Level == ledgerpb.Level_RECLAIMED {
					suspended++
				}
			}
		}
		if suspended < lifetime/2 {
			t.Fatalf("a container was suspended for %d s: this shows nothing", suspended)
		}
		time.Sleep(5 * time.Second)
		a := w.app(rich.attempt.App)
		if a.State != ledger.AppKilled || !strings.Contains(a.Diagnostics, "exceeded the lifetime period") {
			t.Errorf("%v: %q", a.State, a.Diagnostics)
		}
		if a.Expires-a.SubmitTime != lifetime*1000 {
			t.Errorf("its lifetime has become %d ms", a.Expires-a.SubmitTime)
		}
	})
}
