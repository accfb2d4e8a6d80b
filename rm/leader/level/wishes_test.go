package level_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heddle/rm/leader/level"
	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

var all = []string{level.FeatureSuspend, level.FeatureLevels, level.FeatureReclaim}

// refused expects a refusal that gives a reason.
func (w *world) refused(err error, why string) {
	w.t.Helper()
	if !refusal.Is(err, refusal.Refused) || !strings.Contains(err.Error(), why) {
		w.t.Errorf("%v, want a refusal with %q", err, why)
	}
}

// People suspend containers as far down as the node can, or as they say; the scheduler is told what they hold, and the node how often they
// breathe.
func TestWishes(t *testing.T) {
	amount := func(mb, cores int64) *records.Resource { r := records.NewResource(mb, cores); return &r }
	for _, x := range []struct {
		features []string
		wish     level.Wish
		level    ledgerpb.Level
		held     *records.Resource
		breath   int64 // ms
	}{
		{all, level.Wish{}, ledgerpb.Level_RECLAIMED, amount(64, 0), 0},
		{all[:2], level.Wish{}, ledgerpb.Level_FROZEN, amount(1024, 0), 0},
		{all[:1], level.Wish{}, ledgerpb.Level_FROZEN, &claim, 0},
		{all, level.Wish{Level: ledgerpb.Level_FROZEN, Breathe: -1}, ledgerpb.Level_FROZEN, amount(1024, 0), -1},
		{all, level.Wish{Level: ledgerpb.Level_RECLAIMED, Held: amount(100, 2), Breathe: time.Minute}, ledgerpb.Level_RECLAIMED, amount(100, 0), 60_000},
		{all, level.Wish{Level: ledgerpb.Level_SHRUNK}, ledgerpb.Level_SHRUNK, amount(724, 1), 0},
		{all[:2], level.Wish{Level: ledgerpb.Level_SHRUNK}, ledgerpb.Level_SHRUNK, amount(1024, 1), 0},
		{all, level.Wish{Level: ledgerpb.Level_SHRUNK, Held: amount(64, 0)}, ledgerpb.Level_SHRUNK, amount(64, 0), 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := begin(t, x.features...)
			x.wish.User = "ann"
			if err := w.Levels.Suspend(t.Context(), w.task, x.wish); err != nil {
				t.Fatal(err)
			}
			w.expect(x.level, *x.held, 1)
			s := w.State.Container(w.task).Suspension()
			if w.held != *x.held || s.Cause != (ledger.Cause{User: "ann", BreathEvery: x.breath}) || s.Since != w.Now().UnixMilli() {
				t.Errorf("%+v: the scheduler has it hold %v; on record %+v", x.wish, w.held, s)
			}
			if o := w.sent(); len(o) == 1 && (o[0].BreathEvery != x.breath || o[0].For != "") || len(o) == 0 && !w.frozen {
				t.Errorf("%+v: %+v", x.wish, o)
			}
			time.Sleep(3 * time.Second)
			if w.held != claim {
				w.refused(w.Levels.Resume(t.Context(), w.task), "can't resume: it holds "+w.held.String())
			}
			w.returns = true
			if err := w.Levels.Resume(t.Context(), w.task); err != nil || w.held != claim {
				t.Errorf("%v", err)
			}
			w.expect(ledgerpb.Level_RUNNING, claim, 2)
			if w.past != [2]int64{1, 3000} {
				t.Errorf("the driver counts %v", w.past)
			}
		})
	}
}

// What can't be is refused, with the reason, and changes nothing.
func TestWishesThatCannotBe(t *testing.T) {
	amount := func(mb, cores int64) *records.Resource { r := records.NewResource(mb, cores); return &r }
	for _, x := range []struct {
		features []string
		wish     level.Wish
		why      string
	}{
		{all, level.Wish{Level: ledgerpb.Level_RECLAIMED, Held: amount(63, 0)}, "can't hold 63 MB: 64 MB are the least"},
		{all, level.Wish{Level: ledgerpb.Level_SHRUNK, Held: amount(1025, 1)}, "it holds <memory:1024, vCores:2> now, leave it less"},
		{all, level.Wish{Level: ledgerpb.Level_SHRUNK, Held: amount(-1, 1)}, "can't hold"},
		{all, level.Wish{Level: ledgerpb.Level_SHRUNK, Held: &claim}, "can't be shrunk by nothing"},
		{all, level.Wish{Level: ledgerpb.Level_FROZEN, Held: amount(512, 0)}, "a frozen container keeps its memory"},
		{all[:2], level.Wish{Level: ledgerpb.Level_SHRUNK, Held: amount(512, 1)}, "pages no memory out (it is a test)"},
		{all[:2], level.Wish{Level: ledgerpb.Level_RECLAIMED}, "can't be reclaimed: node n1:1 pages no memory out (it is a test)"},
		{all[:1], level.Wish{Level: ledgerpb.Level_SHRUNK}, "can't be shrunk: node n1:1 doesn't limit"},
		{all[:1], level.Wish{Held: amount(512, 0)}, "can't hold <memory:512, vCores:0>: node n1:1 doesn't limit what containers have (it is a test)"},
		{nil, level.Wish{}, "can't suspend containers"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := begin(t, x.features...)
			w.refused(w.Levels.Suspend(t.Context(), w.task, x.wish), x.why)
			w.expect(ledgerpb.Level_RUNNING, claim, 0)
			if w.held != claim || len(w.sent()) > 0 || w.frozen {
				t.Errorf("%q: it was changed", x.why)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		types, err := records.NewResourceTypes(records.ResourceType{Name: "yarn.io/gpu"})
		if err != nil {
			t.Fatal(err)
		}
		w.Levels.Types = types
		held := records.NewResource(512, 0)
		held[types.Len()-1] = 1
		w.refused(w.Levels.Suspend(t.Context(), w.task, level.Wish{Held: &held}), "can't hold 1 of its 0 yarn.io/gpu: only memory and vcores")
		w.expect(ledgerpb.Level_RUNNING, claim, 0)
	})
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.refused(w.Levels.Suspend(t.Context(), records.ContainerID{Attempt: w.task.Attempt, ID: 1}, level.Wish{}), "runs the ApplicationMaster of application_1_0001")
		if err := w.Levels.Suspend(t.Context(), records.ContainerID{}, level.Wish{}); !refusal.Is(err, refusal.NoSuchContainer) {
			t.Errorf("%v", err)
		}
		if err := w.Levels.Suspend(t.Context(), w.task, level.Wish{User: "ann"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		w.refused(w.Levels.Suspend(t.Context(), w.task, level.Wish{}), "is reclaimed already for 5 s, by user ann: resume it first")
	})
}

// A node that takes no more memory at present is told so, and freezes as far down as it can.
func TestWishesOfAFullNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.do(func() { w.Show(w.node, 3, level.Memory{Full: true}) })
		w.refused(w.Levels.Suspend(t.Context(), w.task, level.Wish{Level: ledgerpb.Level_RECLAIMED}), "can't be reclaimed")
		if err := w.Levels.Suspend(t.Context(), w.task, level.Wish{}); err != nil {
			t.Error(err)
		}
		w.expect(ledgerpb.Level_FROZEN, records.NewResource(1024, 0), 1)
	})
}

// full is a scheduler in which a container can't hold anything else.
type full struct{ *world }

func (s full) Apply(e *eventlog.Event) bool { return e.Op != eventlog.SetHeld && s.world.Apply(e) }

// What the scheduler refuses isn't on record either, and nodes don't hear of it.
func TestWishesThatTheSchedulerRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.Scheduler = full{w}
		held := records.NewResource(512, 1)
		w.refused(w.Levels.Suspend(t.Context(), w.task, level.Wish{Level: ledgerpb.Level_SHRUNK, Held: &held}), "can't hold <memory:512, vCores:1>: it claims <memory:1024, vCores:2>, ask for less")
		w.expect(ledgerpb.Level_RUNNING, claim, 0)
		if len(w.sent()) > 0 {
			t.Errorf("its node heard of it: %v", w.sent())
		}
	})
}

// What the driver has decided, people can't undo without room, and not do again.
func TestPeopleAndTheDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, level.FeatureSuspend)
		ctx := t.Context()
		if err := w.Levels.Suspend(ctx, w.task, level.Wish{}); err != nil || !w.frozen {
			t.Errorf("suspended: %v, %v", w.frozen, err)
		}
		if w.expect(ledgerpb.Level_FROZEN, claim, 1); !w.stopped {
			t.Error("the driver may choose what somebody has stopped")
		}
		w.returns = true
		w.do(func() { w.Reported(w.State.Container(w.task), pb.ContainerSubState_CSS_RUNNING, false) })
		if w.expect(ledgerpb.Level_RUNNING, claim, 2); w.stopped {
			t.Error("it goes on, and the driver may not choose it")
		}
		if w.decide(drive.Suspend, half); w.stopped {
			t.Error("the driver has chosen it, and somebody else is said to have stopped it")
		}
		w.chosenBy, w.returns = "root.b", false
		w.refused(w.Levels.Suspend(ctx, w.task, level.Wish{}), "for queue root.b, and resumes by itself")
		w.refused(w.Levels.Resume(ctx, w.task), "no room for the rest, or a queue is at its maximum: try again when others have ended, or suspend one of them")
		w.returns = true
		if err := w.Levels.Resume(ctx, w.task); err != nil || w.frozen {
			t.Errorf("resumed: %v, %v", !w.frozen, err)
		}
		w.expect(ledgerpb.Level_RUNNING, claim, 4)
		w.decide(drive.Suspend, half)
		w.chosenBy = "root.b"
		w.do(func() { w.Reported(w.State.Container(w.task), pb.ContainerSubState_CSS_RUNNING, false) })
		if w.expect(ledgerpb.Level_RUNNING, claim, 6); w.chosenBy != "" {
			t.Error("the driver doesn't hear that the container goes on")
		}
	})
}

// An ApplicationMaster may suspend as well. Its node reports that, and it is on record as nobody else's wish.
func TestSuspensionByAnApplicationMaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.do(func() { w.Reported(w.State.Container(w.task), pb.ContainerSubState_CSS_PAUSED, false) })
		w.expect(ledgerpb.Level_FROZEN, claim, 1)
		if s := w.State.Container(w.task).Suspension(); s.Cause != (ledger.Cause{}) || s.Times != 1 {
			t.Errorf("%+v", s)
		}
		if !w.stopped {
			t.Error("the driver may choose it")
		}
		w.do(func() { w.Reported(w.State.Container(w.task), pb.ContainerSubState_CSS_RUNNING, false) })
		if w.stopped {
			t.Error("it goes on, and the driver may not choose it")
		}
	})
}

// A wish that the node refuses leaves the container, and what it is charged for, as it was.
func TestWishesThatANodeRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.answers(refusal.New(refusal.Refused, "no space left on device"))
		w.refused(w.Levels.Suspend(t.Context(), w.task, level.Wish{}), "no space left")
		w.expect(ledgerpb.Level_RUNNING, claim, 2)
		w.answers(errors.New("connection reset"))
		if err := w.Levels.Suspend(t.Context(), w.task, level.Wish{}); err == nil || refusal.Is(err, refusal.Refused) {
			t.Errorf("%v", err)
		}
		w.expect(ledgerpb.Level_RECLAIMED, records.NewResource(64, 0), 3)
		w.do(func() { w.Failed([]level.Failed{{Container: w.task, Version: 3, Reason: "the disk is full"}}) })
		if w.expect(ledgerpb.Level_RUNNING, claim, 4); w.held != claim {
			t.Errorf("the scheduler has it hold %v", w.held)
		}
	})
}

func TestWordsOfWishes(t *testing.T) {
	for text, want := range map[string]ledgerpb.Level{
		"": ledgerpb.Level_RUNNING, "Shrunk": ledgerpb.Level_SHRUNK, "frozen": ledgerpb.Level_FROZEN, "reclaimed": ledgerpb.Level_RECLAIMED,
	} {
		if l, err := level.ParseLevel(text); err != nil || l != want {
			t.Errorf("%q: %v, %v", text, l, err)
		}
	}
	if _, err := level.ParseLevel("deep"); err == nil || !strings.Contains(err.Error(), "shrunk, frozen, reclaimed") {
		t.Errorf("%v", err)
	}
	for text, want := range map[string]time.Duration{"": 0, "never": -1, "45s": 45 * time.Second, "5s": 5 * time.Second} {
		if d, err := level.ParseBreathe(text); err != nil || d != want {
			t.Errorf("%q: %v, %v", text, d, err)
		}
	}
	for _, text := range []string{"0s", "4s", "-1s", "soon", "45", "25h"} {
		if _, err := level.ParseBreathe(text); err == nil || !strings.Contains(err.Error(), "never") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzParseBreathe(f *testing.F) {
	for _, text := range []string{"", "never", "45s", "1h30m", "-5s", "1e9h"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		switch d, err := level.ParseBreathe(text); {
		case err != nil && (d != 0 || !strings.Contains(err.Error(), "breathe")):
			t.Errorf("%q: %v, %v", text, d, err)
		case err == nil && (d == 0) != (text == ""), err == nil && (d == -1) != (text == "never"), err == nil && d > 0 && (d < level.ShortestBreath || d > 24*time.Hour):
			t.Errorf("%q is %v", text, d)
		}
	})
}
