package kerberos

import (
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"github.com/jcmturner/gokrb5/v8/types"
)

// Replays remembers authenticators, so that none is taken twice by this process. Only holders of a valid ticket can add one. It is safe for
// concurrent use.
type Replays struct {
	mu   sync.Mutex
	seen [2]map[[sha256.Size]byte]struct{} // this period's and the last one's
	ends time.Time                         // of this period
	most int
}

// mostReplays bounds each of the two maps. At 5 minutes of allowed skew it is enough for 1,700 handshakes a second.
const mostReplays = 1 << 20

// NewReplays returns an empty one.
func NewReplays() *Replays { return &Replays{most: mostReplays} }

var (
	errReplay = errors.New("the request is a replay")
	errMany   = errors.New("too many requests within the allowed clock skew")
)

// add enters an authenticator. It fails if that is known. An authenticator is of no use skew after and before its time, so we keep it for twice that.
func (r *Replays) add(sealed types.EncryptedData, now time.Time, skew time.Duration) error {
	sum := sha256.Sum256(sealed.Cipher)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !now.Before(r.ends) {
		last := r.seen[0]
		if !now.Before(r.ends.Add(2 * skew)) {
			last = nil
		}
		r.seen = [2]map[[sha256.Size]byte]struct{}{{}, last}
		r.ends = now.Add(2 * skew)
	}
	for _, m := range r.seen {
		if _, ok := m[sum]; ok {
			return errReplay
		}
	}
	if len(r.seen[0]) >= r.most {
		return errMany
	}
	r.seen[0][sum] = struct{}{}
	return nil
}
