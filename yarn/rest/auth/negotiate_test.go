package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"heddle/yarn/kerberos"
	"heddle/yarn/kerberos/kerberostest"
	"heddle/yarn/kerberos/spnego"
)

const webService = "HTTP/localhost@LAB.TEST"

func webKey(principal string) kerberostest.Entry {
	return kerberostest.Entry{Principal: principal, Version: 1, Cipher: 18, Key: bytes.Repeat([]byte{3}, 32)}
}

// realm has Kerberos's names be those of LAB.TEST.
func realm(t testing.TB) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "krb5.conf")
	if err := os.WriteFile(path, []byte("[libdefaults]\n default_realm = LAB.TEST\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KRB5_CONFIG", path)
}

// secured are the settings of a cluster with tickets on its web ports.
func secured(t testing.TB, more ...string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keytab")
	kerberostest.Write(t, path, []kerberostest.Entry{webKey(webService), webKey("rm/localhost@LAB.TEST")})
	realm(t)
	return append([]string{
		"hadoop.security.authentication=kerberos", initializers + "=" + initializer, prefix + "type=kerberos",
		kerberosPrefix + "principal=HTTP/_HOST@LAB.TEST", kerberosPrefix + "keytab=" + path, whitelist + "=/metrics",
	}, more...)
}

// webClient is a web user of the tests.
type webClient struct {
	exchange *kerberos.Exchange
	header   string
}

// client makes the request of alice for a service. change may change Kerberos's token.
func newClient(t testing.TB, service string, end time.Time, change func([]byte) []byte) webClient {
	t.Helper()
	ticket, key := kerberostest.Ticket(t, webKey(service), "alice@LAB.TEST", end)
	b, x, err := kerberos.Request(kerberos.Ticket{Ticket: ticket, Key: key, Client: kerberostest.Name("alice"), Realm: "LAB.TEST"})
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		b = change(b)
	}
	if b, err = spnego.New(b); err != nil {
		t.Fatal(err)
	}
	return webClient{x, spnego.Header(b)}
}

type fakeTokens struct{ calls []string }

func (f *fakeTokens) Issue(user, realUser, renewer string) (string, error) {
	return "token of " + user + "," + realUser + "," + renewer, nil
}

func (f *fakeTokens) Renew(user, token string) (int64, error) { return 42, nil }

func (f *fakeTokens) Cancel(user, token string) error {
	f.calls = append(f.calls, user+" cancels "+token)
	return nil
}

func (f *fakeTokens) Verify(token string) (user, realUser string, err error) {
	if token != "good" {
		return "", "", errors.New("org.apache.hadoop.security.token.SecretManager$InvalidToken: Token for real user: , can't be found in cache")
	}
	return "alice@LAB.TEST", "oozie@LAB.TEST", nil
}

func securedFilter(t testing.TB, tokens *fakeTokens, more ...string) http.Handler {
	t.Helper()
	f, err := FromConf(loaded(t, secured(t, more...)...), manager)
	if err != nil {
		t.Fatal(err)
	}
	f.Secrets = func() [][]byte { return [][]byte{[]byte("secret")} }
	f.Delegations = tokens
	f.MayActFor = func(_ context.Context, realUser, user string, _ netip.Addr) error {
		if user == "carol" {
			return errors.New("User: " + realUser + " is not allowed to impersonate " + user)
		}
		return nil
	}
	return f.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := From(r.Context())
		owner, realUser := id.Owner()
		_, _ = w.Write([]byte(strings.Join([]string{id.User, id.Real, id.Method, owner, realUser}, ",")))
	}))
}

// What a stock ResourceManager answers, in http/*.txt and odd-tokens.txt of its recordings.
func TestTicketsOfWebUsers(t *testing.T) {
	hour := time.Now().Add(30 * time.Minute)
	good := newClient(t, webService, hour, nil)
	kerberosCookie := func(kind string) string {
		return sign([]byte("secret"), token{"alice", "alice@LAB.TEST", kind, hour.UnixMilli()}.String())
	}
	tokens := &fakeTokens{}
	h := securedFilter(t, tokens)
	const negotiate, cleared, set = "Negotiate", "hadoop.auth=; Path=/; HttpOnly", `hadoop.auth="u=alice&p=alice@LAB.TEST&t=kerberos-dt&e=`
	const gss = "GSSException: Failure unspecified at GSS-API level (Mechanism level: "
	for _, c := range []struct {
		name, method, path, authorization, cookie string
		status                                    int
		body, challenge, setCookie                string
	}{
		{name: "nobody", path: "/cluster", status: 401, body: "Authentication required", challenge: negotiate, setCookie: cleared},
		{name: "a name", path: "/cluster?user.name=alice", status: 401, body: "Authentication required", challenge: negotiate, setCookie: cleared},
		{name: "Basic", path: "/", authorization: "Basic YTpi", status: 401, body: "Authentication required", challenge: negotiate, setCookie: cleared},
		{name: "options", method: "OPTIONS", path: "/ws/v1/cluster/info", status: 401, challenge: negotiate, setCookie: cleared},
		{name: "a ticket", path: "/", authorization: good.header, status: 200, body: "alice,,KERBEROS,alice@LAB.TEST,", challenge: "Negotiate oY", setCookie: set},
		{name: "a replay", path: "/", authorization: good.header, status: 403, body: gss + "Request is a replay (34))", setCookie: cleared},
		{
			name: "another service", path: "/", authorization: newClient(t, "rm/localhost@LAB.TEST", hour, nil).header, status: 403,
			body: "java.lang.IllegalArgumentException: Invalid server principal rm/localhost@LAB.TESTdecoded from client request", setCookie: cleared,
		},
		{name: "another host", path: "/", authorization: newClient(t, "HTTP/other@LAB.TEST", hour, nil).header, status: 403, body: "Invalid server principal HTTP/other@LAB.TEST", setCookie: cleared},
		{name: "an old ticket", path: "/", authorization: newClient(t, webService, hour.Add(-time.Hour), nil).header, status: 403, body: gss + "Ticket expired (32))", setCookie: cleared},
		{name: "corrupt", path: "/", authorization: newClient(t, webService, hour, func(b []byte) []byte { b[len(b)-1] ^= 1; return b }).header, status: 403, body: gss + "Checksum failed)", setCookie: cleared},
		{name: "NTLM", path: "/", authorization: "Negotiate TlRMTVNTUAABAAAA", status: 403, body: "GSSException: Defective token detected", setCookie: cleared},
		{name: "empty", path: "/", authorization: "Negotiate ", status: 403, body: "GSSException: Defective token detected", setCookie: cleared},
		{name: "by cookie", path: "/", cookie: kerberosCookie("kerberos-dt"), status: 200, body: "alice,,KERBEROS,alice@LAB.TEST,"},
		{name: "a cookie of other daemons", path: "/", cookie: kerberosCookie("kerberos"), status: 401, challenge: negotiate, setCookie: cleared, body: "Invalid AuthenticationToken type"},
		{
			name: "a forged cookie", path: "/", cookie: sign([]byte("guess"), "u=root&p=root&t=kerberos-dt&e=9999999999999"), status: 401, challenge: negotiate, setCookie: cleared,
			body: "org.apache.hadoop.security.authentication.util.SignerException: Invalid signature",
		},
		{name: "for a name that is missing", path: "/?doAs=", cookie: kerberosCookie("kerberos-dt"), status: 403, body: "Null user"},
		{name: "for somebody", path: "/?doAs=bob", cookie: kerberosCookie("kerberos-dt"), status: 200, body: "bob,alice,KERBEROS,bob,alice@LAB.TEST"},
		{
			name: "not for somebody", path: "/?doAs=carol", cookie: kerberosCookie("kerberos-dt"), status: 403,
			body: `"message":"User: alice@LAB.TEST is not allowed to impersonate carol","exception":"AuthorizationException"`,
		},
		{name: "open", path: "/isActive", status: 200, body: ",,null,"},
		{name: "opened", path: "/metrics", status: 200, body: ",,null,"},
		{name: "beside the opened", path: "/metrics/x", status: 401, challenge: negotiate, setCookie: cleared},
		{name: "the bearer of a token", path: "/?delegation=good", status: 200, body: "alice,oozie,TOKEN,"},
		{
			name: "the bearer of a cancelled token", path: "/?delegation=bad", status: 403,
			body: `"message":"org.apache.hadoop.security.token.SecretManager$InvalidToken: Token for real user: , can't be found in cache","exception":"AuthenticationException"`,
		},
		{name: "a token for nobody", path: "/?op=GETDELEGATIONTOKEN", status: 401, challenge: negotiate},
		{name: "a token", path: "/?op=GETDELEGATIONTOKEN&renewer=bob", cookie: kerberosCookie("kerberos-dt"), status: 200, body: "token of alice,,bob"},
		{name: "a token cancelled by itself", method: "PUT", path: "/?op=CANCELDELEGATIONTOKEN&token=good", status: 200},
		{name: "a token cancelled by nobody", method: "PUT", path: "/?op=CANCELDELEGATIONTOKEN&token=bad", status: 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.method == "" {
				c.method = "GET"
			}
			r := httptest.NewRequest(c.method, c.path, nil)
			r.Header.Set("Accept", "text/plain")
			if c.authorization != "" {
				r.Header.Set("Authorization", c.authorization)
			}
			if c.cookie != "" {
				r.Header.Set("Cookie", CookieName+`="`+c.cookie+`"`)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.body) {
				t.Errorf("got %d %q, want %d %q", w.Code, w.Body, c.status, c.body)
			}
			if got := w.Header().Get("WWW-Authenticate"); !strings.HasPrefix(got, c.challenge) || (got == "") != (c.challenge == "") {
				t.Errorf("WWW-Authenticate is %q, want %q", got, c.challenge)
			}
			if got := w.Header().Get("Set-Cookie"); !strings.HasPrefix(got, c.setCookie) || (got == "") != (c.setCookie == "") {
				t.Errorf("Set-Cookie is %q, want %q", got, c.setCookie)
			}
			if c.name != "a ticket" {
				return
			}
			b, _, err := spnego.FromHeader(w.Header().Get("WWW-Authenticate"))
			if err == nil {
				b, err = spnego.ParseAnswer(b)
			}
			if err == nil {
				_, err = good.exchange.Establish(b)
			}
			if err != nil {
				t.Errorf("the server doesn't prove who it is: %v", err)
			}
		})
	}
	if got := strings.Join(tokens.calls, "; "); got != "alice@LAB.TEST cancels good" {
		t.Error(got)
	}
}

// The log says why a ticket is refused, which the client doesn't learn. Strangers don't fill it.
func TestRefusedTicketsAreLogged(t *testing.T) {
	log, lines := logtest.NewNullLogger()
	d := manager
	d.Log = logrus.NewEntry(log)
	f, err := FromConf(loaded(t, secured(t)...), d)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", newClient(t, "HTTP/nothing@LAB.TEST", time.Now().Add(time.Hour), nil).header)
		f.Wrap(nil).ServeHTTP(httptest.NewRecorder(), r)
	}
	all := lines.AllEntries()
	if len(all) == 0 || len(all) > 30 || !strings.Contains(fmt.Sprint(all[0].Data["cause"]), "HTTP/nothing@LAB.TEST") {
		t.Errorf("%d lines: %v", len(all), all)
	}
}

// A person is told what to do. Programs get what Hadoop's daemons answer.
func TestPeopleWithoutATicketAreToldWhatToDo(t *testing.T) {
	r := httptest.NewRequest("GET", "/cluster", nil)
	r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
	r.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	w := httptest.NewRecorder()
	securedFilter(t, &fakeTokens{}).ServeHTTP(w, r)
	for _, want := range []string{"kinit", "network.negotiate-auth.trusted-uris", "AuthServerAllowlist"} {
		if w.Code != 401 || !strings.Contains(w.Body.String(), want) || w.Header().Get("WWW-Authenticate") != "Negotiate" {
			t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
		}
	}
}

// NodeManagers have Hadoop's plain filter, and a cluster with Kerberos but without a filter takes nobody's word for who he is.
func TestFiltersOfClustersWithKerberos(t *testing.T) {
	f, err := FromConf(loaded(t, secured(t)...), Daemon{Role: "nodemanager", Host: "LocalHost"})
	if err != nil || f.kind() != "kerberos" {
		t.Errorf("of a NodeManager: %v, %v", f, err)
	}
	f, err = FromConf(loaded(t, secured(t, tokenFilter+"=false")...), manager)
	if err != nil || f.kind() != "kerberos" {
		t.Errorf("without tokens: %v, %v", f, err)
	}
	f, err = FromConf(loaded(t, "hadoop.security.authentication=kerberos"), manager)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	f.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("user " + From(r.Context()).User)) })).
		ServeHTTP(w, httptest.NewRequest("GET", "/?user.name=root", nil))
	if w.Body.String() != "user " {
		t.Errorf("without a filter: %d %s", w.Code, w.Body)
	}
}

// Settings that can't work are refused, with the key and what to do.
func TestWrongSettingsOfTickets(t *testing.T) {
	own := "yarn.resourcemanager.webapp.spnego-"
	for key, c := range map[string]struct{ value, want string }{
		kerberosPrefix + "principal": {"", "set it to the name of the web service"},
		kerberosPrefix + "keytab":    {"", "set it to the file with the keys"},
		whitelist:                    {"/metrics*", "whole paths"},
		own + "principal":            {"HTTP/elsewhere@LAB.TEST", "it has those of HTTP/localhost@LAB.TEST, rm/localhost@LAB.TEST"},
	} {
		settings := secured(t, key+"="+c.value)
		for _, s := range settings {
			if strings.HasPrefix(s, kerberosPrefix+"keytab=/") {
				settings = append(settings, own+"keytab-file"+strings.TrimPrefix(s, kerberosPrefix+"keytab"))
			}
		}
		if key != own+"principal" {
			settings = settings[:len(settings)-1]
		}
		_, err := FromConf(loaded(t, settings...), manager)
		if err == nil || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %q: %v", key, c.value, err)
		}
	}
	settings := secured(t, kerberosPrefix+"principal=rm/_HOST@LAB.TEST")
	if _, err := FromConf(loaded(t, settings...), manager); err == nil || !strings.Contains(err.Error(), "set it to HTTP/_HOST@REALM") {
		t.Errorf("a service that isn't HTTP: %v", err)
	}
}

// Nobody becomes somebody by a header or a cookie that a server or a KDC didn't make.
func FuzzTickets(f *testing.F) {
	f.Add("Negotiate TlRMTVNTUAABAAAA", "u=a&p=a&t=kerberos-dt&e=9&s=")
	f.Add(newClient(f, "rm/localhost@LAB.TEST", time.Now().Add(time.Hour), nil).header, "x")
	h := securedFilter(f, &fakeTokens{})
	f.Fuzz(func(t *testing.T, authorization, cookie string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header["Authorization"], r.Header["Cookie"] = []string{authorization}, []string{CookieName + "=" + cookie}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusUnauthorized && w.Code != http.StatusForbidden {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	})
}

// The cookie of a stock ResourceManager 3.4.2, and the secret in the file that its keys came from. Stock took one that is signed as ours are.
func TestCookiesOfStockDaemonsAreTaken(t *testing.T) {
	const stock = "u=alice&p=alice@LAB.TEST&t=kerberos-dt&e=1795990368685&s=gXG1SHsuZdgcRLouVwQkjXKdM74mWNiI3fzrjfmSilQ="
	file := filepath.Join(t.TempDir(), "http-secret")
	if err := os.WriteFile(file, []byte("nkC9XswDM8Bu3+p/r5IRHAHhjVm4Q8NpMHDBdV14WV4=\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := FromConf(loaded(t, secured(t, prefix+"signature.secret.file="+file)...), manager)
	if err != nil {
		t.Fatal(err)
	}
	f.Now = func() time.Time { return time.UnixMilli(1795990368685).Add(-10 * time.Hour) }
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Cookie", CookieName+`="`+stock+`"`)
	got, known, err := f.fromCookie(r)
	if err != nil || !known || got.user != "alice" || got.name != "alice@LAB.TEST" {
		t.Errorf("%+v, %v, %v", got, known, err)
	}
	made := f.newToken("alice", "alice@LAB.TEST")
	made.expires = 1795990368685
	if signed := sign(f.Secrets()[0], made.String()); signed != stock {
		t.Errorf("ours is %s", signed)
	}
}
