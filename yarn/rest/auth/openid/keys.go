package openid

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// keySet checks signatures by the provider's keys. The library asks the provider for its keys whenever a token names one that it doesn't know. Anyone
// can send such tokens, so names that no good token had make it ask no more often than each pause.
type keySet struct {
	remote oidc.KeySet
	now    func() time.Time

	mu    sync.Mutex
	known map[string]bool // names of keys that have signed a good token
	next  time.Time       // when an unknown name may be looked up
}

// VerifySignature returns a token's payload if one of the provider's keys has signed it.
func (k *keySet) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	name, err := keyOf(jwt)
	if err != nil {
		return nil, err
	}
	if !k.mayAsk(name) {
		return nil, errors.New("it names a key that isn't known; try again in some seconds")
	}
	payload, err := k.remote.VerifySignature(ctx, jwt)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.known) >= mostKeys {
		clear(k.known)
	}
	k.known[name] = true
	return payload, nil
}

func (k *keySet) mayAsk(name string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known[name] {
		return true
	}
	if k.now().Before(k.next) {
		return false
	}
	k.next = k.now().Add(pause)
	return true
}

// keyOf returns the name of the key that a token says it is signed with.
func keyOf(jwt string) (string, error) {
	head, _, _ := strings.Cut(jwt, ".")
	b, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil {
		return "", errors.New("it is no signed token")
	}
	var header struct {
		Key string `json:"kid"`
	}
	if err := json.Unmarshal(b, &header); err != nil || len(header.Key) > longestKey {
		return "", errors.New("it is no signed token")
	}
	return header.Key, nil
}

// capped bounds answers of the provider.
type capped struct{ http.RoundTripper }

func (c capped) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.Body = http.MaxBytesReader(nil, answer.Body, largest)
	return answer, nil
}
