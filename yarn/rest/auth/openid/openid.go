// Package openid identifies web users by an OpenID Connect provider: people sign in there with their browser (authorization code with
// PKCE), programs send a signed token of the provider's.
package openid

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"heddle/internal/together"
)

// Paths of the web port, which must be reachable without an identity.
const (
	LoginPath    = "/openid/login"    // begins; the parameter to says where to go afterwards
	CallbackPath = "/openid/callback" // to which the provider sends people back
)

// Settings describe the provider, and this cluster as its client.
type Settings struct {
	Issuer       string   // URL of the provider, as its tokens name it
	ClientID     string   // this cluster's name at the provider
	ClientSecret string   // "" for a public client
	Scopes       []string // asked for besides openid
	UserClaim    string   // the claim of a token that names its user
	Audiences    []string // besides ClientID: whom programs' tokens may be for
	Redirect     string   // this cluster's CallbackPath as browsers see it; "" takes it from each request

	Secrets func() [][]byte // of the cookies between the two paths: the first one signs, all verify
	Now     func() time.Time
}

// Client is this cluster as a client of a provider. It asks the provider what it needs when a user signs in, not before.
type Client struct {
	Settings
	web *http.Client

	looks together.Group[error]
	mu    sync.Mutex
	found *provider
	err   error     // of the last try to find it
	retry time.Time // the next try isn't made before
}

// provider holds a provider's description of itself.
type provider struct {
	*oidc.Provider
	endpoint oauth2.Endpoint
	verifier *oidc.IDTokenVerifier // of tokens for ClientID
	anyone   *oidc.IDTokenVerifier // of tokens for anyone
}

// Limits of what a provider may cost.
const (
	patience   = 10 * time.Second // for each of its answers
	pause      = 5 * time.Second  // between two tries to reach it, and to learn new keys
	largest    = 1 << 20          // bytes of an answer
	longestKey = 128              // bytes of the name of a key
	mostKeys   = 100              // whose names are remembered
)

// New returns a client. It asks nothing of the provider yet.
func New(s Settings) *Client {
	return &Client{Settings: s, web: &http.Client{Timeout: patience, Transport: capped{http.DefaultTransport}}}
}

// provider returns the provider's description of itself. It is asked once, and again after a pause if it doesn't answer.
func (c *Client) provider(ctx context.Context) (*provider, error) {
	if p := c.known(); p != nil {
		return p, nil
	}
	looked := make(chan error, 1)
	go func() { looked <- c.looks.Get(c.look) }()
	select {
	case err := <-looked:
		return c.known(), err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *Client) known() *provider {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.found
}

// look asks the provider, for all that wait.
func (c *Client) look() error {
	c.mu.Lock()
	if c.found != nil || c.err != nil && c.Now().Before(c.retry) {
		defer c.mu.Unlock()
		return c.err
	}
	c.mu.Unlock()
	p, err := c.discover()
	if err != nil {
		err = fmt.Errorf("the OpenID provider %s: %w", c.Issuer, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found, c.err, c.retry = p, err, c.Now().Add(pause)
	return err
}

// algorithms are those of signatures that a provider makes with a key that it alone has.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256,
	oidc.PS384, oidc.PS512, oidc.EdDSA,
}

func (c *Client) discover() (*provider, error) {
	ctx := oidc.ClientContext(context.Background(), c.web)
	p, err := oidc.NewProvider(ctx, c.Issuer)
	if err != nil {
		return nil, err
	}
	var said struct {
		Keys       string   `json:"jwks_uri"`
		Algorithms []string `json:"id_token_signing_alg_values_supported"`
		Proofs     []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := p.Claims(&said); err != nil {
		return nil, err
	}
	usable := slices.DeleteFunc(said.Algorithms, func(a string) bool { return !slices.Contains(algorithms, a) })
	if len(usable) == 0 {
		usable = []string{oidc.RS256}
	}
	keys := &keySet{remote: oidc.NewRemoteKeySet(ctx, said.Keys), now: c.Now, known: map[string]bool{}}
	verifier := func(anyone bool) *oidc.IDTokenVerifier {
		return oidc.NewVerifier(c.Issuer, keys, &oidc.Config{ClientID: c.ClientID, SkipClientIDCheck: anyone, SupportedSigningAlgs: usable, Now: c.Now})
	}
	endpoint := p.Endpoint()
	endpoint.AuthStyle = c.style(said.Proofs)
	return &provider{Provider: p, endpoint: endpoint, verifier: verifier(false), anyone: verifier(true)}, nil
}

// style returns how this cluster proves itself to a provider that takes some proofs; without a list it takes the first (OpenID Connect Discovery,
// section 3). Trying both, as the library would, fails while a person hasn't signed in on a device yet.
func (c *Client) style(proofs []string) oauth2.AuthStyle {
	if c.ClientSecret != "" && (len(proofs) == 0 || slices.Contains(proofs, "client_secret_basic")) {
		return oauth2.AuthStyleInHeader
	}
	return oauth2.AuthStyleInParams
}

// Bearer returns the user of a program's token: a signed token of the provider's for this cluster or one of the other audiences. The program may
// see the error.
func (c *Client) Bearer(ctx context.Context, raw string) (user string, err error) {
	p, err := c.provider(ctx)
	if err != nil {
		return "", err
	}
	t, err := p.anyone.Verify(ctx, raw)
	if err != nil {
		return "", fmt.Errorf("the token isn't taken: %w", err)
	}
	if !slices.ContainsFunc(t.Audience, func(a string) bool { return a == c.ClientID || slices.Contains(c.Audiences, a) }) {
		return "", fmt.Errorf("the token is for %s, and not for %s", strings.Join(t.Audience, ", "), c.ClientID)
	}
	claims := map[string]any{}
	if err := t.Claims(&claims); err != nil {
		return "", fmt.Errorf("the token's claims: %w", err)
	}
	return c.user(claims)
}

// longestName is how many bytes the name of a user has at most.
const longestName = 256

// user returns the name of the user that a token, or the provider when it was asked, claims.
func (c *Client) user(claims map[string]any) (string, error) {
	name, _ := claims[c.UserClaim].(string)
	switch {
	case name == "":
		return "", fmt.Errorf("the provider claims nothing as %s, by which this cluster names users: set heddle.openid.user-claim to a claim that it makes, or heddle.openid.scopes so that it makes this one", c.UserClaim)
	case len(name) > longestName || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == '&' || r == 0x7f || r == '\ufffd' }):
		return "", fmt.Errorf("the provider names the user %.60q, which is no name of a user", name)
	case c.UserClaim == "email" && claims["email_verified"] != true:
		return "", errors.New("the provider has not verified the address of this user's mail, by which this cluster names users")
	}
	return name, nil
}
