// Package signedin keeps what heddle login got from an OpenID provider, and adds it to requests to ResourceManagers.
package signedin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"heddle/conf"
	"heddle/conf/ssl"
	"heddle/internal/bounded"
	"heddle/internal/whole"
	"heddle/yarn/rest/auth/openid"
)

// Store is the file with a user's login at a provider.
type Store struct {
	client *openid.Client
	path   string
}

// longest is how many bytes a file with a login has at most.
const longest = 1 << 20

// Of returns the store for the provider of a configuration; nil if it names none. The file is in the user's home folder, for that user alone.
func Of(c *conf.Config) (*Store, error) {
	s, ok, err := openid.FromConf(c)
	if err != nil || !ok {
		return nil, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, fmt.Errorf("where logins are kept: %w", err)
	}
	s.Now = time.Now
	sum := sha256.Sum256([]byte(s.Issuer + "\n" + s.ClientID))
	return &Store{client: openid.New(s), path: filepath.Join(home, ".heddle", "login-"+hex.EncodeToString(sum[:8])+".json")}, nil
}

// SignIn lets the user sign in with any browser, and keeps the login. show tells which address to open, and the code to enter there.
func (s *Store) SignIn(ctx context.Context, show func(address, code string)) (openid.Login, error) {
	l, err := s.client.Device(ctx, show)
	if err != nil {
		return l, err
	}
	return l, s.keep(l)
}

// Forget removes the login. It reports whether there was one.
func (s *Store) Forget() (bool, error) {
	err := os.Remove(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// keep replaces the file as a whole: another command may read it.
func (s *Store) keep(l openid.Login) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err = os.MkdirAll(filepath.Dir(s.path), 0o700); err == nil {
		err = whole.Write(s.path, ".login-", 0o600, b)
	}
	if err != nil {
		return fmt.Errorf("keep the login: %w", err)
	}
	return nil
}

// soon is how long before its end a token is renewed.
const soon = time.Minute

// token returns a token that is good for some time; "" without a login, or with one that has ended.
func (s *Store) token(ctx context.Context) (string, error) {
	b, err := bounded.ReadFile(s.path, longest)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var l openid.Login
	if err == nil {
		err = json.Unmarshal(b, &l)
	}
	if err != nil {
		return "", fmt.Errorf("%s can't be read; run heddle login again: %w", s.path, err)
	}
	if time.Now().Add(soon).Before(l.Ends) {
		return l.Token, nil
	}
	if l.Refresh == "" {
		return "", nil
	}
	if l, err = s.client.Renew(ctx, l.Refresh); err != nil {
		return "", fmt.Errorf("%w; run heddle login again", err)
	}
	return l.Token, s.keep(l)
}

// Transport returns a transport that adds the login to requests to the configuration's ResourceManagers, and to no others.
func Transport(c *conf.Config, next http.RoundTripper) (http.RoundTripper, error) {
	s, err := Of(c)
	if err != nil || s == nil {
		return next, err
	}
	t := &transport{Store: s, next: next, servers: map[string]bool{}}
	at, err := c.RMAddresses(conf.WebKey(c, "yarn.resourcemanager."))
	if err != nil {
		return nil, err
	}
	for _, a := range at {
		t.servers[ssl.Scheme(c)+"://"+a.String()] = true
	}
	return t, nil
}

// transport adds a login to requests. One request at a time renews it.
type transport struct {
	*Store
	next    http.RoundTripper
	servers map[string]bool

	mu sync.Mutex
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !t.servers[r.URL.Scheme+"://"+r.URL.Host] || r.Header.Get("Authorization") != "" {
		return t.next.RoundTrip(r)
	}
	t.mu.Lock()
	token, err := t.token(r.Context())
	t.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return t.next.RoundTrip(r)
}

// CloseIdleConnections closes those of the next transport.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
