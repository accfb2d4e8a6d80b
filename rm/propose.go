package rm

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"time"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/raft"
	"heddle/yarn/proxyca"
)

// propose hands a batch to raft. The returned function waits until it is committed.
func (r *ResourceManager) propose(b *ledgerpb.Batch) func() error {
	entry, err := ledger.Encode(b)
	if err != nil {
		return func() error { return fmt.Errorf("encode a batch: %w", err) }
	}
	p := r.raft.Propose(raft.Entry{Data: entry, Source: b})
	return func() error {
		result, err := p.Wait()
		if err != nil {
			return err
		}
		if err, failed := result.(error); failed {
			return err
		}
		return nil
	}
}

// newKey makes a master key as Hadoop does: 64 bits, and a random id. Keys that don't roll have 256 bits: what they sign is public,
// so an attacker may try keys on it. An authority has the secret of its own package.
func newKey(kind ledgerpb.KeyKind) (int32, []byte, error) {
	if kind == ledgerpb.KeyKind_PROXY_CA {
		secret, err := proxyca.New(time.Now())
		return 1, secret, err
	}
	size := 8
	if kind == ledgerpb.KeyKind_WEB || kind == ledgerpb.KeyKind_CLIENT_TO_AM {
		size = 32
	}
	b := make([]byte, 4+size)
	if _, err := rand.Read(b); err != nil {
		return 0, nil, err
	}
	return int32(binary.BigEndian.Uint32(b)), b[4:], nil
}
