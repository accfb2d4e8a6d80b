package level_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heddle/rm/leader/level"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/preempt"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// suspend has the driver suspend the container, at a price.
func (w *world) suspend(price preempt.Quote) {
	w.t.Helper()
	w.held, w.chosenBy = records.NewResource(64, 0), "root.b"
	w.do(func() {
		w.Decided(&drive.Decision{Kind: drive.Suspend, Container: 7, Resource: w.held, For: "root.b", Reason: "why", Quote: &price})
	})
	synctest.Wait()
}

func (w *world) hear(r level.Report) {
	w.t.Helper()
	r.Container = w.task
	w.do(func() { w.Heard([]level.Report{r}) })
}

func (w *world) only() (level.Account, level.Totals) {
	w.t.Helper()
	list := w.Accounts()
	if len(list) != 1 {
		w.t.Fatalf("%+v", list)
	}
	return list[0], w.Totals()
}

// What a suspension was quoted at stands beside what it came to, as its node says. The driver learns how long it took.
func TestWhatSuspensionsComeTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		quote := preempt.Quote{Suspend: preempt.Price{Room: 2, Moved: 960 << 20, Back: 1}, Kill: preempt.Price{Lost: 41}}
		w.suspend(quote)
		const reclaimed, running = pb.ContainerLevel_LEVEL_RECLAIMED, pb.ContainerLevel_LEVEL_RUNNING
		w.hear(level.Report{Version: 0, Wanted: running, Level: running})                                       // before the order
		w.hear(level.Report{Version: 1, Wanted: reclaimed, Level: pb.ContainerLevel_LEVEL_FROZEN, Held: claim}) // on the way
		a, _ := w.only()
		if a.Out != -1 || a.Moved != -1 || a.Lasted != -1 || a.Back != -1 || a.Quote != quote || a.Queue != "root.b" || a.Reason != "why" {
			t.Errorf("%+v", a)
		}
		w.hear(level.Report{Version: 1, Wanted: reclaimed, Level: reclaimed, Held: w.held, Took: 2500, Swapped: 900 << 20})
		w.hear(level.Report{Version: 1, Wanted: reclaimed, Level: reclaimed, Held: w.held, Took: 9999}) // a breath later
		if a, _ = w.only(); a.Out != 2500 || a.Moved != 900<<20 || w.took != 2500 {
			t.Errorf("%+v; the driver hears of %d ms", a, w.took)
		}
		time.Sleep(41 * time.Second)
		w.decide(drive.Resume, claim)
		w.hear(level.Report{Version: 1, Wanted: running, Level: running, Took: 7})
		if a, _ = w.only(); a.Lasted != 41_000 || a.Back != -1 {
			t.Errorf("%+v", a)
		}
		w.hear(level.Report{Version: 2, Wanted: running, Level: running, Held: claim, Took: 300})
		a, sums := w.only()
		if a.Back != 300 {
			t.Errorf("%+v", a)
		}
		if sums != (level.Totals{
			Suspensions: 1, Resumes: 1, Lasted: 41 * time.Second, Quoted: 2 * time.Second, Took: 2500 * time.Millisecond, QuotedBytes: 960 << 20, PagedOutBytes: 900 << 20,
		}) {
			t.Errorf("%+v", sums)
		}
	})
}

// What a node says of an earlier order, or of one that somebody else gave later, is no measure of a suspension.
func TestNewsOfOtherOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.suspend(preempt.Quote{})
		const reclaimed = pb.ContainerLevel_LEVEL_RECLAIMED
		w.hear(level.Report{Version: 0, Wanted: reclaimed, Level: reclaimed, Held: w.held, Took: 5})
		if a, _ := w.only(); a.Out != -1 {
			t.Errorf("before the order came: %+v", a)
		}
		w.decide(drive.Resume, claim)
		if err := w.Levels.Suspend(t.Context(), w.task, level.Wish{}); err != nil {
			t.Fatal(err)
		}
		w.hear(level.Report{Version: 3, Wanted: reclaimed, Level: reclaimed, Held: w.held, Took: 5})
		if a, _ := w.only(); a.Out != -1 || a.Lasted != 0 {
			t.Errorf("after it had resumed: %+v", a)
		}
	})
}

// A container that gives nothing holds its claim, and reports of that change nothing.
func TestSuspendedWithAllThatItHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.decide(drive.Suspend, claim)
		w.hear(level.Report{Version: 1, Wanted: pb.ContainerLevel_LEVEL_RECLAIMED, Level: pb.ContainerLevel_LEVEL_RECLAIMED, Held: claim})
		w.expect(ledgerpb.Level_RECLAIMED, claim, 1)
	})
}

// Memory that the node can't take counts as held until it can.
func TestMemoryThatCannotBeTakenCountsAsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.suspend(preempt.Quote{})
		r := level.Report{Version: 1, Wanted: pb.ContainerLevel_LEVEL_RECLAIMED, Level: pb.ContainerLevel_LEVEL_FROZEN, Held: records.NewResource(1000, 0), Reason: "swap is full"}
		for range 2 {
			w.hear(r)
			w.expect(ledgerpb.Level_RECLAIMED, records.NewResource(1000, 0), 2)
		}
		if w.held.MemoryMB() != 1000 {
			t.Errorf("the scheduler has it hold %v", w.held)
		}
		r.Held = records.NewResource(64, 0)
		w.hear(r) // it may grow again while the node can't take it
		w.expect(ledgerpb.Level_RECLAIMED, records.NewResource(1000, 0), 2)
		r.Reason, r.Level = "", r.Wanted
		w.hear(r)
		w.expect(ledgerpb.Level_RECLAIMED, records.NewResource(64, 0), 3)
		w.hear(r)
		w.expect(ledgerpb.Level_RECLAIMED, records.NewResource(64, 0), 3)
		// Two of its size would overflow the claim: it counts as suspended nevertheless.
		r.Held, r.Reason = claim, "swap is full"
		w.hear(r)
		w.expect(ledgerpb.Level_RECLAIMED, records.NewResource(1024, 0), 4)
	})
}

// Reports that say nothing new aren't passed on.
func TestNewsOfLevels(t *testing.T) {
	id := func(n int64) records.ContainerID { return records.ContainerID{ID: n} }
	before := []level.Report{{Container: id(1), Version: 1, Swapped: 5}, {Container: id(2), Version: 1}}
	now := []level.Report{{Container: id(1), Version: 1, Swapped: 9}, {Container: id(2), Version: 2}, {Container: id(3)}}
	if got := level.News(before, now); len(got) != 2 || got[0].Container != id(2) || got[1].Container != id(3) {
		t.Errorf("%+v", got)
	}
}

// A refused order isn't open any more.
func TestRefusedSuspensionsHaveNoPrice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.suspend(preempt.Quote{})
		w.do(func() { w.Failed([]level.Failed{{Container: w.task, Version: 1, Reason: "no"}}) })
		if a, _ := w.only(); !a.Refused || a.Lasted != 0 || !strings.Contains(a.Reason, "why") {
			t.Errorf("%+v", a)
		}
	})
}

// A container that goes on without an order was suspended until then.
func TestSuspensionsThatEndWithoutAnOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.suspend(preempt.Quote{})
		time.Sleep(9 * time.Second)
		w.returns = true
		w.do(func() { w.Reported(w.State.Container(w.task), pb.ContainerSubState_CSS_RUNNING, false) })
		if a, sums := w.only(); a.Lasted != 9000 || sums.Resumes != 1 || sums.Lasted != 9*time.Second {
			t.Errorf("%+v, %+v", a, sums)
		}
	})
}

// For whom a container is suspended is on record as the driver says it. Of what an earlier leader has decided the driver doesn't know the
// application: it stays on record.
func TestForWhomRoomIsCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.suspend(preempt.Quote{})
		other, third := records.ApplicationID{ClusterTimestamp: 1, ID: 5}, records.ApplicationID{ClusterTimestamp: 1, ID: 6}
		for i, x := range []struct {
			queue string
			app   records.ApplicationID
			want  ledger.Cause
		}{
			{"root.b", records.ApplicationID{}, ledger.Cause{Queue: "root.b"}},
			{"root.c", other, ledger.Cause{Queue: "root.c", App: other}},
			{"root.c", records.ApplicationID{}, ledger.Cause{Queue: "root.c", App: other}},
			{"root.c", third, ledger.Cause{Queue: "root.c", App: third}},
		} {
			w.do(func() {
				w.Decided(&drive.Decision{Kind: drive.Charge, Container: 7, Resource: records.NewResource(int64(500+i), 1), For: x.queue, ForApp: x.app})
			})
			if got := w.State.Container(w.task).Suspension().Cause; got != x.want {
				t.Errorf("%+v, want %+v", got, x.want)
			}
		}
	})
}
