// Package openidtest runs an OpenID Connect provider for tests: the certified one of github.com/zitadel/oidc, with the users of its example.
package openidtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"testing"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
)

// A user of the provider, who hasn't its issuer's host in the name, and its clients: for browsers, and for programs without one. The claim sub
// calls the user Subject.
const (
	User, Password   = "test-user2", "verysecure"
	Client, Secret   = "heddle", "of the cluster"
	Programs         = "programs"
	Subject          = "id2"
	longest          = 1 << 20 // bytes of a page
	defaultUserAgent = "Mozilla/5.0 (X11; Linux x86_64) Test"
)

// Provider is a running provider.
type Provider struct {
	Issuer  string
	server  *httptest.Server
	storage *storage.Storage
}

// Start runs a provider until the test ends. Its client may have people sent back to the given addresses.
func Start(t testing.TB, redirects ...string) *Provider {
	t.Helper()
	mux := http.NewServeMux()
	p := &Provider{server: httptest.NewServer(mux)}
	t.Cleanup(p.server.Close)
	u, err := url.Parse(p.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	p.Issuer = "http://localhost:" + u.Port()
	logs := slog.New(slog.DiscardHandler)
	clients := map[string]*storage.Client{
		Client:   storage.WebClient(Client, Secret, redirects...),
		Programs: storage.DeviceClient(Programs, Secret),
	}
	p.storage = storage.NewStorageWithClients(storage.NewUserStore(p.Issuer), clients)
	mux.Handle("/", exampleop.SetupServer(p.Issuer, p.storage, logs, false))
	return p
}

// Stop has the provider go away.
func (p *Provider) Stop() { p.server.Close() }

// Browser returns a client that keeps cookies, as a person's browser does.
func Browser(t testing.TB) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar, Transport: browsing{http.DefaultTransport}}
}

// browsing says what browsers say.
type browsing struct{ http.RoundTripper }

func (b browsing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", defaultUserAgent)
	r.Header.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
	return b.RoundTripper.RoundTrip(r)
}

var request = regexp.MustCompile(`name="id" value="([^"]*)"`)

// SignIn opens an address with a browser, fills in the provider's form, and returns where that ends.
func (p *Provider) SignIn(browser *http.Client, address, user, password string) (*http.Response, error) {
	answer, err := browser.Get(address)
	if err != nil {
		return nil, err
	}
	page, err := io.ReadAll(io.LimitReader(answer.Body, longest))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return nil, err
	}
	id := request.FindSubmatch(page)
	if id == nil {
		return nil, fmt.Errorf("%s leads to %s (%s), which is no form: %s", address, answer.Request.URL, answer.Status, page)
	}
	return browser.PostForm(p.Issuer+"/login/username", url.Values{"id": {string(id[1])}, "username": {user}, "password": {password}})
}

// Approve has the user Subject allow a program's login (device authorization). The example's own page names its users otherwise than its tokens do.
func (p *Provider) Approve(ctx context.Context, code string) error {
	return p.storage.CompleteDeviceAuthorization(ctx, code, Subject)
}
