package leader

import (
	"context"
	"time"

	"heddle/conf"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
)

// versionInterval is how often members are asked which versions of the ledger they can apply, until it's the newest.
const versionInterval = 2 * time.Second

// versions is where the leader is with that.
type versions struct {
	asking bool
	next   time.Time
	failed string // what was logged last
}

// raiseVersion has all members write the ledger's newest version as soon as all can apply it. Until then nothing is written that
// one of them doesn't know: it may be an older release that is still to be replaced.
func (t *turn) raiseVersion(now time.Time) {
	if t.Versions == nil || t.work.Version >= ledger.Version || t.versions.asking || now.Before(t.versions.next) {
		return
	}
	t.versions.asking, t.versions.next = true, now.Add(versionInterval)
	leader := t.Leader
	leader.Go(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, versionInterval)
		defer cancel()
		all, err := leader.Versions(ctx)
		_ = leader.do(func(t *turn) error { // the next leader asks itself
			t.versionsKnown(all, err)
			return nil
		})
	})
}

func (t *turn) versionsKnown(all int32, err error) {
	t.versions.asking = false
	if err != nil {
		if text := err.Error(); text != t.versions.failed {
			t.versions.failed = text
			t.Log.WithError(err).Info("the ledger keeps its version until all ResourceManagers say which they can apply")
		}
		return
	}
	to := min(all, ledger.Version)
	if to <= t.work.Version {
		return
	}
	t.Enter(&ledgerpb.Command{LedgerVersionRaised: &ledgerpb.LedgerVersionRaised{Version: to, Release: conf.Version}})
	t.Log.WithField("version", to).Info("all ResourceManagers can apply a newer version of the ledger, which is written from now on")
}
