// Package ledgerversion raises the version of the ledger once all ResourceManagers can apply a newer one. Until then nothing is written that
// one of them doesn't know: it may be an older release that is still to be replaced.
package ledgerversion

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/rm/leader/loop"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
)

// Interval is how often members are asked, until all can apply the newest version.
const Interval = 2 * time.Second

// Config is what a Raiser works with.
type Config struct {
	// Ask finds the newest version that all members can apply; it may be slow. nil: the version stays as it is.
	Ask    func(context.Context) (int32, error)
	Raised func() // is called in the loop's operation that has raised the version
	Log    *logrus.Entry
}

// Raiser raises the version of a leadership's ledger. Its methods are for the loop's operations.
type Raiser struct {
	cfg    Config
	loop   loop.Operations
	work   *ledger.State
	asking bool
	next   time.Time // members aren't asked before
	failed string    // what was logged last
}

// New makes the Raiser of a working copy.
func New(loop loop.Operations, work *ledger.State, cfg Config) *Raiser {
	return &Raiser{cfg: cfg, loop: loop, work: work}
}

// Tick asks the members if it is time, and raises the version when they have answered.
func (r *Raiser) Tick(now time.Time) {
	if r.cfg.Ask == nil || r.work.Version >= ledger.Version || r.asking || now.Before(r.next) {
		return
	}
	r.asking, r.next = true, now.Add(Interval)
	r.loop.Go(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, Interval)
		defer cancel()
		all, err := r.cfg.Ask(ctx)
		_ = r.loop.Do(func() error { // the next leader asks itself
			r.answered(all, err)
			return nil
		})
	})
}

// answered takes the newest version that all members can apply.
func (r *Raiser) answered(all int32, err error) {
	r.asking = false
	if err != nil {
		if text := err.Error(); text != r.failed {
			r.failed = text
			r.cfg.Log.WithError(err).Info("the ledger keeps its version until all ResourceManagers say which they can apply")
		}
		return
	}
	to := min(all, ledger.Version)
	if to <= r.work.Version {
		return
	}
	r.loop.Enter(&ledgerpb.Command{LedgerVersionRaised: &ledgerpb.LedgerVersionRaised{Version: to, Release: conf.Version}})
	r.cfg.Raised()
	r.cfg.Log.WithField("version", to).Info("all ResourceManagers can apply a newer version of the ledger, which is written from now on")
}
