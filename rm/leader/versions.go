package leader

import (
	"context"
	"time"

	"heddle/conf"
	"heddle/rm/leader/level"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
)

// versionInterval is how often members are asked which versions of the ledger they can apply, until it's the newest.
const versionInterval = 2 * time.Second

// versions is where the leader is with that.
type versions struct {
	*core
	levels *level.Levels
	asking bool
	next   time.Time
	failed string // what was logged last
}

// raiseVersion has all members write the ledger's newest version as soon as all can apply it. Until then nothing is written that
// one of them doesn't know: it may be an older release that is still to be replaced.
func (vs *versions) raiseVersion(now time.Time) {
	if vs.Versions == nil || vs.work.Version >= ledger.Version || vs.asking || now.Before(vs.next) {
		return
	}
	vs.asking, vs.next = true, now.Add(versionInterval)
	vs.Go(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, versionInterval)
		defer cancel()
		all, err := vs.Versions(ctx)
		_ = vs.Do(func() error { // the next leader asks itself
			vs.versionsKnown(all, err)
			return nil
		})
	})
}

func (vs *versions) versionsKnown(all int32, err error) {
	vs.asking = false
	if err != nil {
		if text := err.Error(); text != vs.failed {
			vs.failed = text
			vs.Log.WithError(err).Info("the ledger keeps its version until all ResourceManagers say which they can apply")
		}
		return
	}
	to := min(all, ledger.Version)
	if to <= vs.work.Version {
		return
	}
	vs.Enter(&ledgerpb.Command{LedgerVersionRaised: &ledgerpb.LedgerVersionRaised{Version: to, Release: conf.Version}})
	vs.levels.ShowAll()
	vs.Log.WithField("version", to).Info("all ResourceManagers can apply a newer version of the ledger, which is written from now on")
}
