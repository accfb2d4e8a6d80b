package leader

import (
	"testing"
	"time"

	"heddle/rm/leader/totals"
	"heddle/yarn/records"
)

// Only the root queue had sums of applications, and no queue had any of containers.
func TestQueuesHaveTotalsOfTheirOwn(t *testing.T) {
	runWorld(t, func(s *Settings) { s.Queues = halves(t) }, func(w *world) {
		_, starved, _, _ := w.crowd() // an ApplicationMaster and three containers in root.a, an ApplicationMaster in root.b
		time.Sleep(20 * time.Second)  // root.a loses one to root.b
		if err := w.Kill(starved.attempt.App, "enough"); err != nil {
			t.Fatal(err)
		}
		all := w.History()
		a, b := all["root.a"], all["root.b"]
		if a.PreemptedMBSeconds < 15*1024 || a.PreemptedVCoreSeconds < 15 || b.FirstsDelay < 15_000 {
			t.Errorf("preempted after %d MB s and %d vcore s; waited for %d ms", a.PreemptedMBSeconds, a.PreemptedVCoreSeconds, b.FirstsDelay)
		}
		a.PreemptedMBSeconds, a.PreemptedVCoreSeconds, a.FirstsDelay, b.FirstsDelay = 0, 0, 0, 0
		if want := (totals.Queue{
			Submitted: 1, Granted: 4, Released: 1, OffSwitch: 4, Preempted: 1, PreemptedResource: records.NewResource(1024, 1), Firsts: 1,
		}); a != want {
			t.Errorf("root.a: %+v, want %+v", a, want)
		}
		if want := (totals.Queue{Submitted: 1, Killed: 1, Granted: 2, Released: 2, OffSwitch: 2, Firsts: 1}); b != want {
			t.Errorf("root.b: %+v, want %+v", b, want)
		}
	})
}
