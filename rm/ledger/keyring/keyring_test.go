package keyring

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/rm/ledger/ledgerpb"
)

// A rolled key takes the place of the current one at once, or when it is activated; a snapshot keeps all of them.
func TestKeysTakeTheirPlaces(t *testing.T) {
	key := func(id int32, at int64) Key { return Key{ID: id, Secret: []byte{byte(id)}, Rolled: at} }
	roll := func(id int32, next bool) *ledgerpb.KeyRolled {
		return &ledgerpb.KeyRolled{Kind: ledgerpb.KeyKind_NM, KeyId: id, Secret: []byte{byte(id)}, Next: next}
	}
	r := Rings{}
	if r.Activate(ledgerpb.KeyKind_NM) {
		t.Error("there was no next key")
	}
	r.Roll(10, roll(1, false))
	r.Roll(20, roll(2, false))
	r.Roll(30, roll(3, true))
	want := Rings{ledgerpb.KeyKind_NM: {Current: key(2, 20), Previous: key(1, 10), Next: key(3, 30)}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
	again := Rings{}
	if again.Restore(r.Record()); !cmp.Equal(r, again) {
		t.Error(cmp.Diff(r, again))
	}
	if !r.Activate(ledgerpb.KeyKind_NM) || !cmp.Equal(r[ledgerpb.KeyKind_NM], Ring{Current: key(3, 30), Previous: key(2, 20)}) {
		t.Errorf("%+v", r)
	}
}
