package level_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heddle/rm/leader/level"
	"heddle/rm/leader/refusal"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/preempt"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// unreported is what is to be known of the container: "": its node has reported the level on record.
func (w *world) unreported(text string) {
	w.t.Helper()
	u, ok := w.UnderWay()[w.task]
	if got := u.Text(w.Now().UnixMilli()); ok != (text != "") || ok && got != text {
		w.t.Errorf("under way: %v, %q, want %q", ok, got, text)
	}
}

// A node doesn't answer in time. What is wanted is on record, and isn't there: whoever asks for it once more waits for the same order, whoever asks for
// something else is told. The order doesn't change by that, nor the time since when it is under way.
func TestWhatNodesHaveNotReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.Levels.Nodes = func() level.Nodes { return silent{w} }
		unconfirmed := func(err error, text string) {
			t.Helper()
			var e *level.Unconfirmed
			if !errors.As(err, &e) || e.Container != w.task || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), text) {
				t.Errorf("%v, want %q", err, text)
			}
			if u := w.UnderWay()[w.task]; e != nil && u != e.UnderWay {
				t.Errorf("%+v, not %+v", e.UnderWay, u)
			}
		}
		suspend := func(wish level.Wish) error { return w.Levels.Suspend(t.Context(), w.task, wish) }
		resume := func() error { return w.Levels.Resume(t.Context(), w.task) }
		w.unreported("")

		shrink := level.Wish{Level: ledgerpb.Level_SHRUNK, User: "ann"}
		held := records.NewResource(724, 1)
		unconfirmed(suspend(shrink), "being shrunk for 10 s; n1 has not reported it yet")
		unconfirmed(suspend(shrink), "for 20 s;")
		w.expect(ledgerpb.Level_SHRUNK, held, 1) // not by another step
		less := records.NewResource(500, 1)
		shrink.Held = &less
		unconfirmed(suspend(shrink), "for 10 s;") // that is another order
		w.expect(ledgerpb.Level_SHRUNK, less, 2)

		w.returns = true
		unconfirmed(resume(), "container "+w.task.String()+" is resuming for 10 s; n1 has not reported it yet (context deadline exceeded). It is told again every 5 s")
		w.expect(ledgerpb.Level_RUNNING, claim, 3)
		w.later(3 * time.Second)
		w.unreported("resuming for 13 s; n1 has not reported it yet")
		unconfirmed(resume(), "resuming for 23 s")
		w.expect(ledgerpb.Level_RUNNING, claim, 3)

		deep := level.Wish{Breathe: -1, User: "ann"}
		unconfirmed(suspend(deep), "being suspended for 10 s; n1 has not reported it yet")
		w.expect(ledgerpb.Level_RECLAIMED, records.NewResource(64, 0), 4)
		unconfirmed(suspend(deep), "being suspended for 20 s")
		deep.Level = ledgerpb.Level_RECLAIMED
		unconfirmed(suspend(deep), "being suspended for 30 s")
		w.expect(ledgerpb.Level_RECLAIMED, records.NewResource(64, 0), 4)
		for name, other := range map[string]level.Wish{
			"another level": {Level: ledgerpb.Level_FROZEN, Breathe: -1}, "another breath": {}, "another amount": {Breathe: -1, Held: &less},
		} {
			t.Log(name)
			w.refused(suspend(other), "is reclaimed already for 30 s, by user ann (n1 has not reported it yet): resume it first")
		}
		w.unreported("being suspended for 30 s; n1 has not reported it yet")

		w.Levels.Nodes = func() level.Nodes { return w }
		w.later(10 * time.Second)
		w.unreported("")
		w.refused(suspend(deep), "is reclaimed already for 40 s, by user ann: resume it first")
		if err := resume(); err != nil {
			t.Error(err)
		}
		w.unreported("")
		w.Levels.Nodes = func() level.Nodes { return silent{w} }
		unconfirmed(suspend(level.Wish{}), "for 10 s")
		w.ends()
		w.later(time.Minute)
		w.unreported("")
	})
}

// What preemption has decided isn't somebody's wish, also while the node has not reported it.
func TestPreemptionIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.Levels.Nodes = func() level.Nodes { return silent{w} }
		w.suspend(preempt.Quote{})
		w.unreported("being suspended for 0 s; n1 has not reported it yet")
		w.refused(w.Levels.Suspend(t.Context(), w.task, level.Wish{}),
			"for queue root.b, and resumes by itself when its node has room (n1 has not reported it yet): resume it first")
		w.later(11 * time.Second) // no call is left
		w.decide(drive.Resume, claim)
		w.unreported("resuming for 0 s; n1 has not reported it yet")
		w.Levels.Nodes = func() level.Nodes { return w }
		w.later(15 * time.Second)
		w.unreported("")
	})
}

// A new leader doesn't know whether nodes ever heard of what is on record. Until a node says it again, nobody is told that its container has its level; whoever
// asks for that level waits for the node's answer, and whoever asks for another one is told. A container that runs on record isn't listed: mostly it does.
func TestWhatAnEarlierLeaderHasRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const again = "for 3 s; n1 has not reported it again yet"
		frozen := level.Wish{Level: ledgerpb.Level_FROZEN, User: "ann"}
		inherited := func(wish level.Wish) *world {
			t.Helper()
			w := begin(t, all...)
			w.do(func() { w.NodeBegins(w.node, 3) })
			w.unreported("") // it was never suspended
			for _, do := range []func() error{
				func() error { return w.Levels.Suspend(t.Context(), w.task, wish) },
				func() error { w.do(func() { w.NodeBegins(w.node, 3) }); return nil },
			} {
				if err := do(); err != nil {
					t.Fatal(err)
				}
			}
			w.later(3 * time.Second)
			w.unreported("being suspended " + again)
			return w
		}
		sent := func(w *world, n int) {
			t.Helper()
			if got := w.sent(); len(got) != n {
				t.Errorf("sent %v", got)
			}
		}

		w := inherited(frozen)
		w.report(pb.ContainerSubState_CSS_PAUSED, true)
		w.unreported("")
		sent(w, 1)

		w = inherited(frozen)
		w.report(pb.ContainerSubState_CSS_RUNNING, true)
		w.unreported("being suspended for 0 s; n1 has not reported it yet") // it is told now
		w.later(0)
		w.unreported("")
		sent(w, 2)

		w = inherited(frozen)
		w.refused(w.Levels.Suspend(t.Context(), w.task, level.Wish{Breathe: -1}), "is frozen already for 3 s, by user ann (n1 has not reported it again yet): resume it first")
		sent(w, 1)
		if err := w.Levels.Suspend(t.Context(), w.task, frozen); err != nil {
			t.Error(err)
		}
		w.expect(ledgerpb.Level_FROZEN, records.NewResource(1024, 0), 1)
		w.unreported("")
		sent(w, 2)

		w = inherited(frozen)
		w.answers(refusal.New(refusal.Refused, "no freezer"))
		w.refused(w.Levels.Suspend(t.Context(), w.task, frozen), "no freezer")
		w.expect(ledgerpb.Level_RUNNING, claim, 2)
		w.unreported("")

		w = inherited(frozen)
		w.ends()
		w.later(0)
		w.unreported("")

		w = inherited(frozen)
		w.returns = true
		if err := w.Levels.Resume(t.Context(), w.task); err != nil {
			t.Error(err)
		}
		w.do(func() { w.NodeBegins(w.node, 3) })
		w.unreported("")
		if u, ok := w.UnderWayOf(w.task); !ok || u.Text(u.Since) != "to run for 0 s; n1 has not reported it again yet" {
			t.Errorf("%+v", u)
		}
		w.report(pb.ContainerSubState_CSS_RUNNING, true)
		if u, ok := w.UnderWayOf(w.task); ok {
			t.Errorf("%+v", u)
		}

		w = begin(t)
		w.do(func() {
			w.State.Container(w.task).LevelVersion = 3
			w.NodeBegins(w.node, 3)
		})
		if u, ok := w.UnderWayOf(w.task); ok {
			t.Errorf("of a node that tells of no levels %+v is awaited", u)
		}
	})
}

// A leader records that a suspended container holds less, and dies before the node hears of it. The next leader tells the node, which would hold more than
// counts as taken otherwise. It says nothing to a node that has the latest order, that holds no more than is on record, or that can't do it.
func TestNodesThatKnowAnOlderOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		least := records.NewResource(64, 0)
		for name, x := range map[string]struct {
			says   level.Report
			behind bool
		}{
			"the older order":           {level.Report{Version: 1, Held: records.NewResource(512, 0)}, true},
			"the older order, more cpu": {level.Report{Version: 1, Held: records.NewResource(64, 1)}, true},
			"the latest order":          {level.Report{Version: 2, Held: records.NewResource(512, 0)}, false},
			"less than is on record":    {level.Report{Version: 1, Held: least}, false},
			"that it can't":             {level.Report{Version: 1, Held: records.NewResource(512, 0), Reason: "swap is full"}, false},
		} {
			w := begin(t, all...)
			w.decide(drive.Suspend, records.NewResource(512, 0))
			w.Levels.Nodes = func() level.Nodes { return silent{w} }
			w.decide(drive.Shrink, least)
			w.expect(ledgerpb.Level_RECLAIMED, least, 2)
			w.later(11 * time.Second) // no call is left
			w.Config.Nodes = func() level.Nodes { return w }
			before := len(w.sent())
			w.Levels = level.New(w.Loop, w.State, w.Config)
			w.do(func() { w.NodeBegins(w.node, 3) })
			w.report(pb.ContainerSubState_CSS_PAUSED, true)
			x.says.Wanted, x.says.Level = pb.ContainerLevel_LEVEL_RECLAIMED, pb.ContainerLevel_LEVEL_RECLAIMED
			w.hear(x.says)
			w.hear(x.says) // it is told once
			w.later(time.Second)
			w.later(time.Minute)
			orders := w.sent()[before:]
			switch {
			case !x.behind && len(orders) > 0, x.behind && len(orders) != 1:
				t.Errorf("a node that says %s is sent %v", name, orders)
			case x.behind && (orders[0].Version != 2 || orders[0].Held != least || orders[0].Level != ledgerpb.Level_RECLAIMED):
				t.Errorf("a node that says %s is told %+v", name, orders[0])
			}
		}
	})
}
