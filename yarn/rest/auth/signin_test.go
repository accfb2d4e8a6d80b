package auth

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"heddle/conf"
	"heddle/yarn/rest/auth/openid/openidtest"
)

// site is a web port whose users sign in at a provider.
type site struct {
	*httptest.Server
	provider *openidtest.Provider
	filter   *Filter
	address  string // as browsers know it
	now      func() time.Time
}

// signInSite starts a provider, and a web port with settings besides the provider's.
func signInSite(t *testing.T, more ...string) *site {
	t.Helper()
	s := &site{now: time.Now}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.filter.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id := From(r.Context())
			_, _ = w.Write([]byte(r.URL.RequestURI() + " for " + id.User + "," + id.Real + "," + id.Method))
		})).ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.address = "http://localhost:" + u.Port()
	s.provider = openidtest.Start(t, s.address+"/openid/callback")
	settings := append([]string{
		"heddle.openid.issuer=" + s.provider.Issuer, "heddle.openid.client-id=" + openidtest.Client, "heddle.openid.client-secret=" + openidtest.Secret,
	}, more...)
	c, err := conf.Load(conf.Options{Overrides: settings})
	if err != nil {
		t.Fatal(err)
	}
	if s.filter, err = FromConf(c, Daemon{Role: "resourcemanager", Host: "localhost"}); err != nil {
		t.Fatal(err)
	}
	s.filter.Secrets = RandomSecret()
	s.filter.Now = func() time.Time { return s.now() }
	return s
}

// body returns a page, and what the answer is.
func body(t *testing.T, answer *http.Response, err error) (string, int) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), answer.StatusCode
}

// People sign in at a provider, come back to the page that they wanted, and are known from then on.
func TestPeopleSignIn(t *testing.T) {
	s := signInSite(t)
	browser := openidtest.Browser(t)
	const page = "/cluster/apps?state=RUNNING"
	answer, err := s.provider.SignIn(browser, s.address+page, openidtest.User, openidtest.Password)
	const want = page + " for " + openidtest.User + ",," + OpenID
	if got, status := body(t, answer, err); got != want || status != http.StatusOK {
		t.Fatalf("got %d, %q", status, got)
	}
	answer, err = browser.Get(s.address + page)
	if got, _ := body(t, answer, err); got != want {
		t.Errorf("later it gets %q", got)
	}
	s.now = func() time.Time { return time.Now().Add(11 * time.Hour) }
	browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err = browser.Get(s.address + page)
	if _, status := body(t, answer, err); status != http.StatusFound || !strings.HasPrefix(answer.Header.Get("Location"), s.provider.Issuer) {
		t.Errorf("when the cookie is old: %d to %q", status, answer.Header.Get("Location"))
	}
}

// What a request claims counts nothing where people sign in, nor does a cookie that believed a claim.
func TestClaimsCountNothingWherePeopleSignIn(t *testing.T) {
	s := signInSite(t)
	old := &Filter{Delegation: true, Secrets: s.filter.Secrets, Validity: time.Hour, Now: time.Now}
	for what, change := range map[string]func(*http.Request){
		"a name": func(r *http.Request) { r.URL.RawQuery = "user.name=root" },
		"a cookie": func(r *http.Request) {
			r.Header.Set("Cookie", CookieName+"="+sign(s.filter.secrets()[0], old.newToken("root", "root").String()))
		},
		"no token": func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") },
		"an own token": func(r *http.Request) {
			r.Header.Set("Authorization", "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJyb290In0.")
		},
		"a ticket":       func(r *http.Request) { r.Header.Set("Authorization", "Negotiate YII=") },
		"nothing at all": func(*http.Request) {},
	} {
		r, err := http.NewRequest(http.MethodGet, s.URL+"/ws/v1/cluster", nil)
		if err != nil {
			t.Fatal(err)
		}
		change(r)
		answer, err := http.DefaultClient.Do(r)
		got, status := body(t, answer, err)
		if status != http.StatusUnauthorized || !strings.HasPrefix(answer.Header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("%s: %d (%s), %q", what, status, answer.Header.Get("WWW-Authenticate"), got)
		}
	}
	answer, err := http.Get(s.URL + "/isActive")
	if got, status := body(t, answer, err); status != http.StatusOK || !strings.HasSuffix(got, ","+Unnamed) {
		t.Errorf("/isActive: %d, %q", status, got)
	}
}

// With tickets a person may sign in instead, and has the same cookie.
func TestPeopleSignInBesideTickets(t *testing.T) {
	s := signInSite(t, secured(t)...)
	browser := openidtest.Browser(t)
	answer, err := browser.Get(s.address + "/cluster")
	if page, status := body(t, answer, err); status != http.StatusUnauthorized || !strings.Contains(page, `href="/openid/login?to=%2Fcluster"`) {
		t.Fatalf("%d, %s", status, page)
	}
	answer, err = s.provider.SignIn(browser, s.address+"/openid/login?to=%2Fcluster", openidtest.User, openidtest.Password)
	if got, status := body(t, answer, err); status != http.StatusOK || got != "/cluster for "+openidtest.User+",,"+Kerberos {
		t.Errorf("%d, %q", status, got)
	}
	s.filter.Validity = -time.Hour
	answer, err = s.provider.SignIn(browser, s.address+"/openid/login?to=%2Fcluster", openidtest.User, openidtest.Password)
	if page, status := body(t, answer, err); status != http.StatusUnauthorized || !strings.Contains(page, `href="/openid/login?to=%2Fcluster"`) {
		t.Errorf("when a login has ended: %d, %s", status, page)
	}
	r, err := http.NewRequest(http.MethodGet, s.URL+"/ws/v1/cluster", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", newClient(t, webService, time.Now().Add(time.Hour), nil).header)
	answer, err = http.DefaultClient.Do(r)
	if got, status := body(t, answer, err); status != http.StatusOK || got != "/ws/v1/cluster for alice,,"+Kerberos {
		t.Errorf("with a ticket: %d, %q", status, got)
	}
}

// A login that this browser hasn't begun, a link elsewhere, a wrong password and a provider that is away lead nowhere.
func TestLoginsThatFail(t *testing.T) {
	s := signInSite(t)
	for what, path := range map[string]string{
		"no state":       "/openid/callback?code=x",
		"a false state":  "/openid/callback?code=x&state=AAAAAAAAAAAAAAAAAAAAAAAAAA",
		"an odd state":   "/openid/callback?code=x&state=%00%0d%0a;=%22aaaaaaa",
		"a short state":  "/openid/callback?code=x&state=A",
		"another's word": "/openid/callback?error=access_denied&state=AAAAAAAAAAAAAAAAAAAAAAAAAA",
	} {
		answer, err := openidtest.Browser(t).Get(s.address + path)
		if got, status := body(t, answer, err); status != http.StatusForbidden || !strings.Contains(got, "sign in again") {
			t.Errorf("%s: %d, %s", what, status, got)
		}
	}
	begun, other := openidtest.Browser(t), openidtest.Browser(t)
	var back *http.Request
	begun.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == "/openid/callback" {
			back = r
			return http.ErrUseLastResponse
		}
		return nil
	}
	if _, err := s.provider.SignIn(begun, s.address+"/cluster", openidtest.User, openidtest.Password); err != nil || back == nil {
		t.Fatalf("%v; back by %v", err, back)
	}
	answer, err := other.Get(back.URL.String())
	if got, status := body(t, answer, err); status != http.StatusForbidden || !strings.Contains(got, "sign in again") {
		t.Errorf("another browser with a link to the end of a login: %d, %s", status, got)
	}
	begun.CheckRedirect = nil
	answer, err = begun.Get(back.URL.String())
	if got, status := body(t, answer, err); status != http.StatusOK {
		t.Errorf("the browser itself: %d, %s", status, got)
	}
	answer, err = s.provider.SignIn(openidtest.Browser(t), s.address+"/openid/login?to=//evil.example/x", openidtest.User, openidtest.Password)
	if got, _ := body(t, answer, err); !strings.HasPrefix(got, "/cluster for ") {
		t.Errorf("a link that leads elsewhere afterwards: %s", got)
	}
	answer, err = s.provider.SignIn(openidtest.Browser(t), s.address+"/cluster", openidtest.User, "wrong")
	if got, _ := body(t, answer, err); strings.Contains(got, " for ") {
		t.Errorf("a wrong password: %s", got)
	}
}

func TestProviderThatIsAway(t *testing.T) {
	s := signInSite(t)
	s.provider.Stop()
	for range 3 {
		answer, err := openidtest.Browser(t).Get(s.address + "/cluster")
		if got, status := body(t, answer, err); status != http.StatusServiceUnavailable || !strings.Contains(got, s.provider.Issuer) {
			t.Fatalf("%d, %s", status, got)
		}
	}
}

func TestWrongSettingsOfProviders(t *testing.T) {
	for _, c := range []struct{ settings, want string }{
		{"heddle.openid.issuer=login.example.com", "https://login.example.com"},
		{"heddle.openid.issuer=http://login.example.com|heddle.openid.client-id=x", "in the clear"},
		{"heddle.openid.issuer=https://login.example.com", "heddle.openid.client-id isn't"},
		{"heddle.openid.issuer=https://login.example.com|heddle.openid.client-id=x|heddle.openid.redirect-url=https://rm/else", "/openid/callback"},
		{"heddle.openid.issuer=https://u:p@login.example.com|heddle.openid.client-id=x", "is no URL"},
	} {
		o, err := conf.Load(conf.Options{Overrides: strings.Split(c.settings, "|")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := FromConf(o, Daemon{Role: "resourcemanager"}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.settings, err)
		}
		if _, err := FromConf(o, Daemon{Role: "nodemanager"}); err != nil {
			t.Errorf("a NodeManager reads %s: %v", c.settings, err)
		}
	}
}
