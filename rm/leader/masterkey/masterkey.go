// Package masterkey makes, rolls and shows the cluster's master keys, with which tokens are signed. The keys are in the ledger. A
// leader's loop calls Roll when its leadership begins and with each tick; makers and checkers of tokens read keys from any goroutine,
// and see those that are committed.
package masterkey

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/rm/leader/loop"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
)

// Config says how keys are made and when they are replaced.
type Config struct {
	// Lifetime is after how long a key of a kind is replaced; 0 is never.
	Lifetime map[ledgerpb.KeyKind]time.Duration
	// NodeExpiry is the silence after which a node counts as lost. Nodes have a new key before it signs.
	NodeExpiry time.Duration
	// Certificates says that there is an authority for certificates of ApplicationMasters.
	Certificates bool
	New          func(kind ledgerpb.KeyKind) (id int32, secret []byte, err error) // makes a random key
	Log          *logrus.Entry
}

// Keys are the master keys of a leadership.
type Keys struct {
	Config
	loop  loop.Operations
	work  *ledger.State
	began time.Time
	// recorded is when this leadership put the latest key of a kind on record.
	recorded map[ledgerpb.KeyKind]time.Time

	committed atomic.Pointer[map[ledgerpb.KeyKind]ledger.KeyRing]
	nm        atomic.Int32
}

// New shows and rolls the keys of a working copy, for a leadership that begins now.
func New(loop loop.Operations, work *ledger.State, cfg Config) *Keys {
	return &Keys{Config: cfg, loop: loop, work: work, began: loop.Now(), recorded: map[ledgerpb.KeyKind]time.Time{}}
}

// Ring returns the committed master keys of a kind; the zero KeyRing until Publish was called and there are any.
func (k *Keys) Ring(kind ledgerpb.KeyKind) ledger.KeyRing {
	if rings := k.committed.Load(); rings != nil {
		return (*rings)[kind]
	}
	return ledger.KeyRing{}
}

// NMTokenKey returns the id of the committed key that signs NMTokens; 0 if there is none.
func (k *Keys) NMTokenKey() int32 { return k.nm.Load() }

// Publish shows the keys of the working copy once they are committed. Operations of the loop call it.
func (k *Keys) Publish() {
	rings := make(map[ledgerpb.KeyKind]ledger.KeyRing, len(k.work.Keys))
	for kind, ring := range k.work.Keys {
		rings[kind] = ring
	}
	k.loop.AfterCommit(func() {
		k.committed.Store(&rings)
		k.nm.Store(rings[ledgerpb.KeyKind_NM].Current.ID)
	})
}

var kinds = []ledgerpb.KeyKind{
	ledgerpb.KeyKind_AM_RM, ledgerpb.KeyKind_CONTAINER, ledgerpb.KeyKind_NM, ledgerpb.KeyKind_WEB, ledgerpb.KeyKind_DELEGATION,
	ledgerpb.KeyKind_CLIENT_TO_AM, ledgerpb.KeyKind_PROXY_CA,
}

// Roll makes missing keys and replaces those that are due. Nodes check tokens with some kinds of keys: they get such a key first, and it
// signs only when every node that isn't lost has it. Operations of the loop call Roll.
func (k *Keys) Roll(now time.Time) error {
	for _, kind := range kinds {
		if kind == ledgerpb.KeyKind_PROXY_CA && (!k.Certificates || k.work.Version < ledger.ProxyCAVersion) {
			continue
		}
		ring := k.work.Keys[kind]
		life := k.Lifetime[kind]
		spread := kind == ledgerpb.KeyKind_NM || kind == ledgerpb.KeyKind_CONTAINER
		switch {
		case ring.Current.Secret == nil:
			if err := k.roll(kind, false); err != nil {
				return err
			}
		case ring.Next.Secret != nil:
			if k.sinceRecorded(now, kind) > k.NodeExpiry*3/2 {
				k.loop.Enter(&ledgerpb.Command{KeyActivated: &ledgerpb.KeyActivated{Kind: kind}})
				k.Publish()
			}
		case life > 0 && now.Sub(time.UnixMilli(ring.Current.Rolled)) > life:
			if err := k.roll(kind, spread); err != nil {
				return err
			}
		}
	}
	return nil
}

// Tick rolls keys that are due. If that fails, it is tried again with the next one.
func (k *Keys) Tick(now time.Time) {
	if err := k.Roll(now); err != nil {
		k.Log.WithError(err).Error("master keys are not rolled, to be tried again")
	}
}

// sinceRecorded is for how long a key has been on record, as far as this leadership can tell: another one's clock may show another time. It
// forgives standstills, in which no node could get the key.
func (k *Keys) sinceRecorded(now time.Time, kind ledgerpb.KeyKind) time.Duration {
	if at, ok := k.recorded[kind]; ok {
		return now.Sub(at)
	}
	return now.Sub(k.began)
}

// roll makes a key that signs at once, or is the next one to.
func (k *Keys) roll(kind ledgerpb.KeyKind, next bool) error {
	id, secret, err := k.New(kind)
	if err != nil {
		return fmt.Errorf("make a master key of kind %v: %w", kind, err)
	}
	k.loop.Enter(&ledgerpb.Command{KeyRolled: &ledgerpb.KeyRolled{Kind: kind, KeyId: id, Secret: secret, Next: next}})
	k.recorded[kind] = k.loop.Now()
	k.Log.WithField("kind", kind).WithField("key", id).Info("master key rolled")
	k.Publish()
	return nil
}
