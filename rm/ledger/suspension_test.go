package ledger

import (
	"bytes"
	"reflect"
	"testing"

	"heddle/rm/ledger/ledgerpb"
)

// suspend is a change of level for somebody.
func suspend(s *State, to ledgerpb.Level, cause Cause) *ledgerpb.Command {
	held := half
	if to == ledgerpb.Level_RUNNING {
		held = small
	}
	return s.Container(task).ChangeLevel(to, held, cause)
}

// The ledger knows since when, for whom, how often and how long in all a container was below its claim. Levels below RUNNING follow each
// other within one suspension.
func TestHistoryOfSuspension(t *testing.T) {
	s := world(t)
	short := Cause{Queue: "root.short", App: app(2)}
	ann := Cause{User: "ann", BreathEvery: -1}
	expect := func(now int64, c *ledgerpb.Command, want Suspension) {
		t.Helper()
		run(t, s, now, c)
		got := s.Container(task).Suspension()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	expect(1000, suspend(s, ledgerpb.Level_SHRUNK, short), Suspension{Cause: short, Since: created + 1000, Times: 1})
	other := Cause{Queue: "root.other"}
	expect(2000, suspend(s, ledgerpb.Level_RECLAIMED, other), Suspension{Cause: other, Since: created + 1000, Times: 1})
	was := []Span{{From: created + 1000, To: created + 4000, Cause: other}}
	expect(4000, suspend(s, ledgerpb.Level_RUNNING, other), Suspension{Cause: other, Times: 1, Total: 3000, Spans: was})
	expect(5000, suspend(s, ledgerpb.Level_FROZEN, ann), Suspension{Cause: ann, Since: created + 5000, Times: 2, Total: 3000, Spans: was})
	x := s.Container(task).Suspension()
	if got := x.For(created + 5500); got != 3500 {
		t.Errorf("%d ms", got)
	}
	was = append(was, Span{From: created + 5000, To: created + 7000, Cause: ann})
	expect(7000, complete(task, 0), Suspension{Cause: ann, Times: 2, Total: 5000, Spans: was})
}

// Who goes on and stops all the time doesn't make the ledger grow.
func TestFewSuspensionsAreRememberedOneByOne(t *testing.T) {
	s := world(t)
	for i := range int64(maxSpans + 10) {
		run(t, s, 10*i, suspend(s, ledgerpb.Level_FROZEN, Cause{}))
		run(t, s, 10*i+1, suspend(s, ledgerpb.Level_RUNNING, Cause{}))
	}
	if x := s.Container(task).Suspension(); len(x.Spans) != maxSpans || x.Times != maxSpans+10 || x.Total != maxSpans+10 || x.Spans[0].From != created {
		t.Errorf("%+v", x)
	}
}

// A clone shares what is remembered, and is not changed by what comes after.
func TestClonesKeepTheirHistoryOfSuspension(t *testing.T) {
	s := world(t)
	run(t, s, 10, suspend(s, ledgerpb.Level_FROZEN, Cause{}), suspend(s, ledgerpb.Level_FROZEN, Cause{}))
	run(t, s, 20, suspend(s, ledgerpb.Level_RUNNING, Cause{}))
	old := s.Clone()
	before := snapshot(t, old)
	run(t, s, 30, suspend(s, ledgerpb.Level_FROZEN, Cause{User: "ann"}))
	run(t, s, 40, suspend(s, ledgerpb.Level_RUNNING, Cause{}))
	if !bytes.Equal(snapshot(t, old), before) {
		t.Error("a clone was changed")
	}
}

// Members of version 3 can't read causes: none is written before all can, and nothing is counted.
func TestCausesNeedTheirVersion(t *testing.T) {
	s := world(t)
	s.Version = 3
	run(t, s, 10, suspend(s, ledgerpb.Level_FROZEN, Cause{}))
	if x := s.Container(task).Suspension(); x.Times != 0 || x.Since != 0 {
		t.Errorf("%+v", x)
	}
	s.Version = Version
	run(t, s, 20, suspend(s, ledgerpb.Level_RUNNING, Cause{}))
	if x := s.Container(task).Suspension(); x.Times != 0 || x.Total != 0 {
		t.Errorf("%+v", x)
	}
	run(t, s, 30, suspend(s, ledgerpb.Level_SHRUNK, Cause{}))
	if x := s.Container(task).Suspension(); x.Times != 1 || x.Since != created+30 {
		t.Errorf("%+v after it had resumed", x)
	}
}

// Of a container that was suspended before version 4 nobody knows for whom. When what it holds changes later, that must not make it look
// like one that its ApplicationMaster has suspended, which doesn't resume by itself.
func TestOldSuspensionsStayUnknown(t *testing.T) {
	s := world(t)
	s.Version = 3
	run(t, s, 10, suspend(s, ledgerpb.Level_SHRUNK, Cause{}))
	s.Version = Version
	run(t, s, 20, suspend(s, ledgerpb.Level_RECLAIMED, Cause{}))
	if x := s.Container(task).Suspension(); x.Times != 0 || x.Since != 0 {
		t.Errorf("%+v", x)
	}
	short := Cause{Queue: "root.short"}
	run(t, s, 30, suspend(s, ledgerpb.Level_RECLAIMED, short))
	if x := s.Container(task).Suspension(); x.Times != 1 || x.Since != created+30 || x.Cause != short {
		t.Errorf("%+v when somebody is known", x)
	}
}
