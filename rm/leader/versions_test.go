package leader

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"heddle/rm/leader/ledgerversion"
	"heddle/rm/ledger"
)

func TestVersionIsRaisedOnceAllMembersCanApplyIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		answers := make(chan func() (int32, error), 1)
		w.versions = func(context.Context) (int32, error) { return (<-answers)() }
		w.lead()
		defer w.depose()
		say := func(v int32, err error) {
			answers <- func() (int32, error) { return v, err }
			time.Sleep(2 * ledgerversion.Interval) // virtual
			synctest.Wait()
		}
		say(1, nil)
		say(0, errors.New("rm3 is down"))
		w.submit(nil)
		if s := w.state(); s.Version != 1 {
			t.Fatalf("version %d while a member can't apply it", s.Version)
		}
		for _, b := range w.batches {
			if b.GetVersion() != 0 {
				t.Errorf("a batch that a member can't apply: %v", b)
			}
		}
		say(ledger.Version+1, nil)
		if s := w.state(); s.Version != ledger.Version || s.Release == "" {
			t.Errorf("version %d of release %q", s.Version, s.Release)
		}
		w.submit(nil)
		if last := w.batches[len(w.batches)-1]; last.GetVersion() != ledger.Version {
			t.Errorf("a batch behind: %v", last)
		}
		w.same()
		w.depose()
		w.lead() // the next leader goes on with it
		w.submit(nil)
		w.same()
	})
}
