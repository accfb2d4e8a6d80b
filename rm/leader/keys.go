package leader

import (
	"sync/atomic"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
)

// signing holds the master keys as they are committed, for those who make and check tokens outside the loop.
type signing struct {
	rings atomic.Pointer[map[ledgerpb.KeyKind]ledger.KeyRing]
	nm    atomic.Int32 // id of the key that NMTokens are signed with
}

// Keys returns the master keys of a kind.
func (l *Leader) Keys(kind ledgerpb.KeyKind) ledger.KeyRing {
	rings := l.signing.rings.Load()
	if rings == nil {
		return ledger.KeyRing{}
	}
	return (*rings)[kind]
}

// publishKeys shows the keys of the working copy once they are committed.
func (t *turn) publishKeys() {
	rings := make(map[ledgerpb.KeyKind]ledger.KeyRing, len(t.work.Keys))
	for kind, ring := range t.work.Keys {
		rings[kind] = ring
	}
	t.AfterCommit(func() {
		t.signing.rings.Store(&rings)
		t.signing.nm.Store(rings[ledgerpb.KeyKind_NM].Current.ID)
	})
}
