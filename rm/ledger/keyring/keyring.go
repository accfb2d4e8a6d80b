// Package keyring is the part of the ledger that records the master keys that tokens are signed with. It is pure.
package keyring

import (
	"cmp"
	"slices"

	"heddle/rm/ledger/ledgerpb"
)

// Ring holds master keys of a kind: the one that signs new tokens, the one before it, whose tokens stay valid,
// and the next one, which takes over when all that check tokens have it.
type Ring struct {
	Current, Previous, Next Key
}

// Key is a master key; the zero Key is none.
type Key struct {
	ID     int32
	Secret []byte
	Rolled int64 // when it was made, in ms since 1970
}

// Rings are the master keys by kind.
type Rings map[ledgerpb.KeyKind]Ring

// Roll takes a new key that was made at now (ms since 1970).
func (r Rings) Roll(now int64, c *ledgerpb.KeyRolled) {
	key := Key{ID: c.GetKeyId(), Secret: c.GetSecret(), Rolled: now}
	ring := r[c.GetKind()]
	if c.GetNext() {
		ring.Next = key
	} else {
		ring = Ring{Current: key, Previous: ring.Current}
	}
	r[c.GetKind()] = ring
}

// Activate has the next key of a kind take over, and reports whether there is one.
func (r Rings) Activate(kind ledgerpb.KeyKind) bool {
	ring := r[kind]
	if ring.Next.Secret == nil {
		return false
	}
	r[kind] = Ring{Current: ring.Next, Previous: ring.Current}
	return true
}

// Record returns all keys as a snapshot has them, in order.
func (r Rings) Record() (keys []*ledgerpb.Key) {
	for kind, ring := range r {
		for place, key := range map[ledgerpb.Key_Place]Key{
			ledgerpb.Key_CURRENT: ring.Current, ledgerpb.Key_PREVIOUS: ring.Previous, ledgerpb.Key_NEXT: ring.Next,
		} {
			if key.Secret != nil {
				keys = append(keys, &ledgerpb.Key{Kind: kind, KeyId: key.ID, Secret: key.Secret, Rolled: key.Rolled, Place: place})
			}
		}
	}
	slices.SortFunc(keys, func(a, b *ledgerpb.Key) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Place, b.Place))
	})
	return keys
}

// Restore takes over what Record has made.
func (r Rings) Restore(keys []*ledgerpb.Key) {
	for _, k := range keys {
		ring := r[k.GetKind()]
		key := Key{ID: k.GetKeyId(), Secret: k.GetSecret(), Rolled: k.GetRolled()}
		switch k.GetPlace() {
		case ledgerpb.Key_CURRENT:
			ring.Current = key
		case ledgerpb.Key_PREVIOUS:
			ring.Previous = key
		case ledgerpb.Key_NEXT:
			ring.Next = key
		}
		r[k.GetKind()] = ring
	}
}
