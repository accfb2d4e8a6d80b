package ledgerversion

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"heddle/rm/leader/loop/looptest"
	"heddle/rm/ledger"
)

// A member that doesn't answer, or can't apply the newest version, holds the version back. The log says so once for each reason.
func TestOneMemberHoldsTheVersionBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type answer struct {
			all int32
			err error
		}
		var now answer
		log, lines := test.NewNullLogger()
		loop, asked, raised := looptest.New(t), 0, 0
		r := New(loop, loop.State, Config{
			Ask:    func(context.Context) (int32, error) { asked++; return now.all, now.err },
			Raised: func() { raised++ },
			Log:    logrus.NewEntry(log),
		})
		away := errors.New("rm3 is down")
		for i, step := range []struct {
			answer
			wait                          time.Duration
			asked, raised, lines, version int
		}{
			{answer{0, away}, 0, 1, 0, 1, 1},
			{answer{0, away}, Interval / 2, 1, 0, 1, 1}, // asked lately
			{answer{0, away}, Interval, 2, 0, 1, 1},     // the same reason
			{answer{0, errors.New("rm2 is down")}, Interval, 3, 0, 2, 1},
			{answer{1, nil}, Interval, 4, 0, 2, 1},
			{answer{ledger.Version + 1, nil}, Interval, 5, 1, 3, ledger.Version},
			{answer{ledger.Version + 1, nil}, Interval, 5, 1, 3, ledger.Version}, // nothing is newer
		} {
			now = step.answer
			time.Sleep(step.wait) // virtual
			if err := loop.Do(func() error { r.Tick(loop.Now()); return nil }); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if got := len(lines.AllEntries()); asked != step.asked || raised != step.raised || got != step.lines || int(loop.State.Version) != step.version {
				t.Errorf("step %d: asked %d times, raised %d times, %d lines, version %d; want %+v", i, asked, raised, got, loop.State.Version, step)
			}
		}
	})
}

// Nobody is asked while an answer is due, and without anybody to ask the version stays.
func TestNobodyIsAskedTwiceAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, answer := 0, make(chan int32)
		loop, log := looptest.New(t), logrus.NewEntry(logrus.New())
		slow := New(loop, loop.State, Config{
			Ask: func(context.Context) (int32, error) { asked++; return <-answer, nil }, Raised: func() {}, Log: log,
		})
		for range 3 {
			slow.Tick(loop.Now())
			time.Sleep(2 * Interval) // virtual
			synctest.Wait()
		}
		New(loop, loop.State, Config{Log: log}).Tick(loop.Now())
		if asked != 1 || loop.State.Version != 1 {
			t.Errorf("asked %d times, version %d", asked, loop.State.Version)
		}
		answer <- 1
		synctest.Wait()
	})
}
