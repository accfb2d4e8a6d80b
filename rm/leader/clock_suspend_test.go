package leader

import (
	"slices"
	"testing"
	"time"

	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/queue/suspension"
	"heddle/yarn/records"
)

// Whatever the clock on the wall is set to, and whoever leads, a suspended container resumes when room has waited for it often enough, neither sooner nor
// later, and only the time for which it was really suspended counts.
func TestSuspensionWhileTheWallClockSteps(t *testing.T) {
	for name, x := range map[string]struct {
		step    time.Duration
		changes bool // of the leader, after each step
	}{
		"forward": {time.Hour, false}, "back": {-time.Hour, false}, "forward, another leader": {time.Hour, true}, "back, another leader": {-time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			queues := func(s *Settings) {
				suspending(t, suspension.Immediate)(s)
				s.Queues.Settings.Suspension.Longest = 30 * time.Minute
				s.Queues.Settings.Suspension.Tries = 10
			}
			runWorld(t, queues, func(w *world) {
				_, starved, n, victim := w.full(everything)
				grant := starved.allocate(AllocateCall{Asks: ask(1)}).Grants[0].ID
				began := time.Now()
				var all []NodeContainer
				state := w.state()
				for c := range state.On(state.Nodes[victim.Node]) {
					all = append(all, runs(c.ID))
				}
				goesOn := func(seconds int) {
					t.Helper()
					for range seconds {
						time.Sleep(time.Second)
						n.heartbeat(all...)
					}
					if err := w.OfferLeadership("rm1"); err != nil { // something is committed
						t.Fatal(err)
					}
				}
				steps := func() {
					t.Helper()
					w.ahead.Add(int64(x.step))
					if x.changes {
						w.depose()
						w.lead()
						n = w.ableNode(roomy, everything, all...)
					}
				}
				is := func(level ledgerpb.Level) {
					t.Helper()
					if c := w.state().Container(victim.ID); c.Level != level {
						t.Fatalf("after %v it is %v: %+v", time.Since(began), c.Level, c.Suspension())
					}
				}
				goesOn(15)
				steps()
				goesOn(20)
				is(ledgerpb.Level_RECLAIMED)
				n.heartbeat(append(without(all, grant), ended(grant, 0))...)
				all = without(all, grant)
				goesOn(5) // room waits
				is(ledgerpb.Level_RECLAIMED)
				steps()
				goesOn(3)
				is(ledgerpb.Level_RECLAIMED)
				goesOn(12)
				is(ledgerpb.Level_RUNNING)
				s := w.state().Container(victim.ID).Suspension()
				took := time.Since(began).Milliseconds()
				if s.Since != 0 || s.Times != 1 || s.Total < took/2 || s.Total > 3*took/2 || len(s.Spans) != 1 || s.Spans[0].To-s.Spans[0].From != s.Total {
					t.Errorf("after %d ms: %+v", took, s)
				}
				w.same()
			})
		})
	}
}

func without(list []NodeContainer, id records.ContainerID) []NodeContainer {
	return slices.DeleteFunc(slices.Clone(list), func(c NodeContainer) bool { return c.ID == id })
}
