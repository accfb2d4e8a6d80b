package kerberos

import (
	"bytes"
	"testing"

	"github.com/jcmturner/gokrb5/v8/types"
)

// Messages of each length are as gokrb5's, with each cipher: either opens what the other has sealed, and checksums are the same. A changed one is refused.
func TestSealingIsTheLibrarys(t *testing.T) {
	for cipher, size := range keySizes {
		key := types.EncryptionKey{KeyType: cipher, KeyValue: bytes.Repeat([]byte{7}, size)}
		ours, err := newSealing(key, usageAcceptorSeal)
		if err != nil {
			t.Fatal(err)
		}
		et, err := cipherOf(key)
		if err != nil {
			t.Fatal(err)
		}
		theirs := &library{et, key, usageAcceptorSeal}
		for n := 1; n < 100; n++ {
			whole := bytes.Repeat([]byte{byte(n), 1, 2}, n)[:n]
			message, trailer := whole[:n/2], whole[n/2:]
			for _, way := range [][2]sealing{{ours, theirs}, {theirs, ours}, {ours, ours}} {
				sealed, err := way[0].seal([]byte("before"), message, trailer)
				if err != nil {
					t.Fatal(err)
				}
				sealed = sealed[len("before"):]
				changed := bytes.Clone(sealed)
				changed[n%len(changed)] ^= 1
				if got, err := way[1].open(sealed); err != nil || !bytes.Equal(got, whole) {
					t.Fatalf("cipher %d, %d bytes: %x, %v", cipher, n, got, err)
				}
				if got, err := way[1].open(changed); err == nil {
					t.Errorf("cipher %d, %d bytes, changed: %x", cipher, n, got)
				}
			}
			a, err := ours.sum(message, trailer)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := theirs.sum(message, trailer); err != nil || !bytes.Equal(a, b) || len(a) != ours.size() || ours.size() != theirs.size() {
				t.Errorf("cipher %d: checksum %x of %x, %v", cipher, a, b, err)
			}
		}
	}
}

func BenchmarkSealed(b *testing.B) {
	key := types.EncryptionKey{KeyType: 18, KeyValue: make([]byte, 32)}
	from, to := &Context{initiator: true, key: key}, &Context{key: key}
	message, token := make([]byte, 1024), make([]byte, 0, 2048)
	b.SetBytes(int64(len(message)))
	b.ReportAllocs()
	for b.Loop() {
		sealed, err := from.wrap(token, message, true)
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := to.Unwrap(sealed); err != nil {
			b.Fatal(err)
		}
	}
}
