package openid

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// issuer signs whatever tokens a test wants, and counts how often it is asked for its keys.
type issuer struct {
	*httptest.Server
	key   *ecdsa.PrivateKey
	asked atomic.Int32
}

func newIssuer(t testing.TB) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i, mux := &issuer{key: key}, http.NewServeMux()
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{
			"issuer": i.URL, "authorization_endpoint": i.URL + "/auth", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"ES256", "HS256", "none"},
		})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		i.asked.Add(1)
		answer(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "ES256", Use: "sig"}}})
	})
	return i
}

// token signs claims, by the issuer's key unless another one is given.
func (i *issuer) token(t testing.TB, name string, key any, with jose.SignatureAlgorithm, claims map[string]any) string {
	t.Helper()
	if key == nil {
		key = i.key
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: with, Key: jose.JSONWebKey{Key: key, KeyID: name}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func (i *issuer) client(now func() time.Time) *Client {
	return New(Settings{Issuer: i.URL, ClientID: "heddle", UserClaim: "preferred_username", Audiences: []string{"scripts"}, Now: now})
}

// claims are those of a good token, and others in their place.
func (i *issuer) claims(change ...any) map[string]any {
	c := map[string]any{"iss": i.URL, "sub": "1", "aud": "heddle", "exp": time.Now().Add(time.Hour).Unix(), "preferred_username": "alice"}
	for k := 0; k < len(change); k += 2 {
		c[change[k].(string)] = change[k+1]
	}
	return c
}

func TestTokensOfPrograms(t *testing.T) {
	i := newIssuer(t)
	c := i.client(time.Now)
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good := i.token(t, "k", nil, jose.ES256, i.claims())
	for _, x := range []struct{ what, raw, user, refused string }{
		{"a good one", good, "alice", ""},
		{"one for scripts", i.token(t, "k", nil, jose.ES256, i.claims("aud", []string{"x", "scripts"})), "alice", ""},
		{"one for another service", i.token(t, "k", nil, jose.ES256, i.claims("aud", "mail")), "", "is for mail"},
		{"one of another issuer", i.token(t, "k", nil, jose.ES256, i.claims("iss", "https://evil.example")), "", "isn't taken"},
		{"an old one", i.token(t, "k", nil, jose.ES256, i.claims("exp", time.Now().Add(-time.Hour).Unix())), "", "isn't taken"},
		{"one by another key", i.token(t, "k", other, jose.ES256, i.claims()), "", "isn't taken"},
		{"one by a secret", i.token(t, "k", make([]byte, 32), jose.HS256, i.claims()), "", "isn't taken"},
		{"one by none", "eyJhbGciOiJub25lIn0." + strings.Split(good, ".")[1] + ".", "", "isn't taken"},
		{"a changed one", good[:len(good)-9] + "AAAAAAAAA", "", "isn't taken"},
		{"no token", "x", "", "isn't taken"},
		{"one without a name", i.token(t, "k", nil, jose.ES256, i.claims("preferred_username", 7)), "", "heddle.openid.user-claim"},
		{"one with an odd name", i.token(t, "k", nil, jose.ES256, i.claims("preferred_username", "a&u=root")), "", "no name of a user"},
		{"one with a long name", i.token(t, "k", nil, jose.ES256, i.claims("preferred_username", strings.Repeat("a", 1<<16))), "", "no name of a user"},
	} {
		user, err := c.Bearer(t.Context(), x.raw)
		if x.refused == "" && (err != nil || user != x.user) || x.refused != "" && (err == nil || !strings.Contains(err.Error(), x.refused)) {
			t.Errorf("%s: %q, %v", x.what, user, err)
		}
		if err != nil && len(err.Error()) > 2000 {
			t.Errorf("%s: the refusal has %d bytes", x.what, len(err.Error()))
		}
	}
	c.UserClaim = "email"
	for verified, want := range map[any]string{true: "a@x.org", false: "", "true": ""} {
		user, _ := c.Bearer(t.Context(), i.token(t, "k", nil, jose.ES256, i.claims("email", "a@x.org", "email_verified", verified)))
		if user != want {
			t.Errorf("an address that is verified (%v) names %q", verified, user)
		}
	}
}

// A million tokens with names of keys that don't exist don't make the cluster ask the provider as often.
func TestUnknownKeysAskSeldom(t *testing.T) {
	i := newIssuer(t)
	at := time.Now()
	c := i.client(func() time.Time { return at })
	if _, err := c.Bearer(t.Context(), i.token(t, "k", nil, jose.ES256, i.claims())); err != nil {
		t.Fatal(err)
	}
	at = at.Add(pause)
	before := i.asked.Load()
	for range 200 {
		if _, err := c.Bearer(t.Context(), i.token(t, "unknown", nil, jose.ES256, i.claims())); err == nil {
			t.Fatal("a token by a key that isn't known is taken")
		}
	}
	if asked := i.asked.Load() - before; asked > 1 {
		t.Errorf("the provider was asked %d times", asked)
	}
	if _, err := c.Bearer(t.Context(), i.token(t, "k", nil, jose.ES256, i.claims())); err != nil {
		t.Errorf("meanwhile a good token isn't taken: %v", err)
	}
}

// A provider that never ends its answers is given up.
func TestEndlessProvider(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	}))
	defer s.Close()
	c := New(Settings{Issuer: s.URL, ClientID: "heddle", UserClaim: "sub", Now: time.Now})
	if _, err := c.Bearer(t.Context(), "x.y.z"); err == nil || !strings.Contains(err.Error(), s.URL) {
		t.Errorf("got %v", err)
	}
}

// FuzzAttempt: whatever a browser sends as its cookie and state, it ends no login that it hasn't begun.
func FuzzAttempt(f *testing.F) {
	secret := []byte("secret")
	f.Add(seal([]byte("another"), attempt{State: "AAAAAAAAAA", Back: "/", Ends: 1 << 60}), "AAAAAAAAAA")
	f.Add(seal(secret, attempt{State: "AAAAAAAAAA", Back: "/", Ends: 1}), "AAAAAAAAAA")
	f.Add("..", "\x00")
	c := &Client{Settings: Settings{Secrets: func() [][]byte { return [][]byte{secret} }, Now: time.Now}}
	f.Fuzz(func(t *testing.T, sealed, state string) {
		r := httptest.NewRequest(http.MethodGet, "/openid/callback", nil)
		r.Header.Set("Cookie", cookiePrefix+state[:min(letters, len(state))]+"="+sealed)
		if a, err := c.attemptOf(r, state); err == nil {
			t.Errorf("it ends %+v", a)
		}
	})
}
