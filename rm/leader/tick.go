package leader

import (
	"fmt"
	"time"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// tick looks at deadlines.
func (t *turn) tick() {
	now := t.Now()
	t.expireNodes(now)
	t.expireLeaving()
	t.expireAttempts(now)
	t.expireUnstarted(now)
	t.expireGrown(now)
	t.expireApps(now)
	t.repeatOrders(now)
	t.renewCarried(now)
	t.expireDelegations(now)
	t.raiseVersion(now)
	if err := t.rollKeys(now); err != nil {
		t.Log.WithError(err).Error("master keys are not rolled, to be tried again")
	}
}

func (t *turn) expireNodes(now time.Time) {
	for id, n := range t.nodes {
		if n.session.seen.silentSince(now, t.Settings.NodeExpiry) {
			t.removeNode(id, pb.NodeState_NS_LOST)
		}
	}
}

// expireAttempts ends attempts whose ApplicationMaster is silent, or has said farewell and won't go.
func (t *turn) expireAttempts(now time.Time) {
	for id, soft := range t.apps {
		app := t.work.Apps[id]
		attempt := app.Current()
		if soft.session == nil || attempt.State < ledger.AttemptLaunched || attempt.State.Ended() {
			continue
		}
		if !soft.session.seen.silentSince(now, t.Settings.AMExpiry) {
			continue
		}
		t.stopAM(app, attempt)
		if attempt.State == ledger.AttemptFinishing {
			t.finish(app, attempt, records.ExitKilledByResourceManager)
			continue
		}
		t.failAttempt(app, attempt, attemptEnd{
			diagnostics: fmt.Sprintf("ApplicationMaster for attempt %v timed out", attempt.ID),
			exit:        records.ExitInvalid,
		})
	}
}

// expireUnstarted takes back containers that were granted and never started.
func (t *turn) expireUnstarted(now time.Time) {
	for _, id := range t.unstarted.due(now) {
		if !t.waitsForStart(id) {
			continue
		}
		c := t.work.Container(id)
		t.Log.WithField("container", c.ID).Warn("a granted container was never started")
		t.cleanUp(c)
		t.complete(t.work.Apps[c.ID.Attempt.App], c, records.ExitAborted, "Container expired since it was unused")
	}
}

// grace is for how long after the beginning of a leadership nothing ends whose deadline an earlier one has set: the clocks of their
// machines may differ, and those who are to prolong it have just come back.
const grace = time.Minute

func (l *Leader) justBegun(now time.Time) bool { return now.Sub(l.began) < grace }

// expireApps ends the applications whose lifetime is over.
func (t *turn) expireApps(now time.Time) {
	for id, soft := range t.apps {
		app := t.work.Apps[id]
		if soft.inherited && t.justBegun(now) {
			continue
		}
		if app.Expires > 0 && now.UnixMilli() >= app.Expires {
			t.kill(app, "Application is killed by ResourceManager as it has exceeded the lifetime period.")
		}
	}
}

// rollKeys replaces master keys that are due. A key that nodes check tokens with is handed to them first, and signs only
// when every node that is not lost has it.
func (t *turn) rollKeys(now time.Time) error {
	for _, kind := range keyKinds {
		ring := t.work.Keys[kind]
		life := t.Settings.KeyLifetime[kind]
		spread := kind == ledgerpb.KeyKind_NM || kind == ledgerpb.KeyKind_CONTAINER
		switch {
		case ring.Current.Secret == nil:
			if err := t.roll(kind, false); err != nil {
				return err
			}
		case ring.Next.Secret != nil:
			if t.sinceRecorded(now, ring.Next.Rolled) > t.Settings.NodeExpiry*3/2 {
				t.Enter(&ledgerpb.Command{KeyActivated: &ledgerpb.KeyActivated{Kind: kind}})
				t.publishKeys()
			}
		case life > 0 && now.Sub(time.UnixMilli(ring.Current.Rolled)) > life:
			if err := t.roll(kind, spread); err != nil {
				return err
			}
		}
	}
	return nil
}

// sinceRecorded is for how long something has been on record, as far as this leadership can tell: another one's clock may show
// another time.
func (l *Leader) sinceRecorded(now time.Time, ms int64) time.Duration {
	if at := time.UnixMilli(ms); at.After(l.began) && !at.After(now) {
		return now.Sub(at)
	}
	return now.Sub(l.began)
}

var keyKinds = []ledgerpb.KeyKind{
	ledgerpb.KeyKind_AM_RM, ledgerpb.KeyKind_CONTAINER, ledgerpb.KeyKind_NM, ledgerpb.KeyKind_WEB, ledgerpb.KeyKind_DELEGATION,
	ledgerpb.KeyKind_CLIENT_TO_AM,
}

func (t *turn) roll(kind ledgerpb.KeyKind, next bool) error {
	id, secret, err := t.NewKey(kind)
	if err != nil {
		return fmt.Errorf("make a master key of kind %v: %w", kind, err)
	}
	t.Enter(&ledgerpb.Command{KeyRolled: &ledgerpb.KeyRolled{Kind: kind, KeyId: id, Secret: secret, Next: next}})
	t.Log.WithField("kind", kind).WithField("key", id).Info("master key rolled")
	t.publishKeys()
	return nil
}
