package leader

import (
	"sync/atomic"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
)

// keys are the cluster's master keys.
type keys struct {
	*core
	signing signing
}

// signing holds the master keys as they are committed, for those who make and check tokens outside the loop.
type signing struct {
	rings atomic.Pointer[map[ledgerpb.KeyKind]ledger.KeyRing]
	nm    atomic.Int32 // id of the key that NMTokens are signed with
}

// Keys returns the master keys of a kind.
func (k *keys) Keys(kind ledgerpb.KeyKind) ledger.KeyRing {
	rings := k.signing.rings.Load()
	if rings == nil {
		return ledger.KeyRing{}
	}
	return (*rings)[kind]
}

// publishKeys shows the keys of the working copy once they are committed.
func (k *keys) publishKeys() {
	rings := make(map[ledgerpb.KeyKind]ledger.KeyRing, len(k.work.Keys))
	for kind, ring := range k.work.Keys {
		rings[kind] = ring
	}
	k.AfterCommit(func() {
		k.signing.rings.Store(&rings)
		k.signing.nm.Store(rings[ledgerpb.KeyKind_NM].Current.ID)
	})
}
