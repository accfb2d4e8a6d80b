package auth

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"heddle/conf"
)

// TestSignature has what Hadoop's Signer makes of the text.
func TestSignature(t *testing.T) {
	const text = "u=alice&p=alice&t=simple&e=1700000000000"
	const signed = text + "&s=lj/inoMoJsIm7dwrfhQ5B7ubq45oq6fJX5vLnJUMQ/Q="
	if got := sign([]byte("s3cret\n"), text); got != signed {
		t.Errorf("got %s, want %s", got, signed)
	}
	if got, err := verify([][]byte{[]byte("newer"), []byte("s3cret\n")}, signed); err != nil || got != text {
		t.Errorf("got %q, %v", got, err)
	}
}

var now = time.UnixMilli(1_700_000_000_000)

func testFilter(change func(*Filter)) http.Handler {
	f := &Filter{
		Anonymous: true, Static: "dr.who", Delegation: true, Validity: time.Hour,
		Secrets: func() [][]byte { return [][]byte{[]byte("secret"), []byte("older")} },
		Now:     func() time.Time { return now },
		MayActFor: func(_ context.Context, realUser, user string, _ netip.Addr) error {
			if realUser == "root" {
				return nil
			}
			return errors.New("User: " + realUser + " is not allowed to impersonate " + user)
		},
	}
	change(f)
	return f.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := From(r.Context())
		_, _ = w.Write([]byte(id.User + "," + id.Real + "," + id.Method))
	}))
}

func cookie(secret, user, kind string, expires time.Time) string {
	return sign([]byte(secret), token{user, user, kind, expires.UnixMilli()}.String())
}

func TestFilter(t *testing.T) {
	explicit := func(f *Filter) { f.Delegation, f.Anonymous, f.Static = false, false, "" }
	nothing := func(*Filter) {}
	later := now.Add(time.Minute)
	const set = `hadoop.auth="u=alice&p=alice&t=simple-dt&e=1700003600000&s=`
	for _, c := range []struct {
		name          string
		change        func(*Filter)
		query, cookie string
		status        int
		body          string
		setCookie     string
	}{
		{name: "nobody", change: nothing, status: 200, body: "dr.who,,null"},
		{name: "by name", change: nothing, query: "user.name=alice", status: 200, body: "alice,,SIMPLE", setCookie: set},
		{name: "twice named", change: nothing, query: "user.name=alice&user.name=bob", status: 200, body: "alice,,SIMPLE", setCookie: set},
		{name: "empty name", change: nothing, query: "user.name=", status: 400},
		{name: "name that would forge a token", change: nothing, query: "user.name=alice%26t%3Dx", status: 400},
		{name: "malformed query", change: nothing, query: "%zz&user.name=alice;x", status: 200, body: "alice;x,,SIMPLE", setCookie: "hadoop.auth="},
		{name: "by cookie", change: nothing, cookie: cookie("secret", "alice", "simple-dt", later), status: 200, body: "alice,,SIMPLE"},
		{name: "by an older cookie", change: nothing, cookie: cookie("older", "alice", "simple-dt", later), status: 200, body: "alice,,SIMPLE"},
		{name: "cookie before name", change: nothing, query: "user.name=bob", cookie: cookie("secret", "alice", "simple-dt", later), status: 200, body: "alice,,SIMPLE"},
		{name: "forged cookie", change: nothing, cookie: cookie("guess", "alice", "simple-dt", later), status: 200, body: "dr.who,,null"},
		{name: "forged cookie and name", change: nothing, query: "user.name=alice", cookie: cookie("guess", "root", "simple-dt", later), status: 200, body: "alice,,SIMPLE", setCookie: set},
		{name: "expired cookie", change: nothing, cookie: cookie("secret", "alice", "simple-dt", now.Add(-1)), status: 200, body: "dr.who,,null"},
		{name: "cookie of another mode", change: nothing, cookie: cookie("secret", "alice", "simple", later), status: 200, body: "dr.who,,null"},
		{name: "do as", change: nothing, query: "user.name=root&DoAs=alice", status: 200, body: "alice,root,SIMPLE", setCookie: "hadoop.auth=\"u=root"},
		{
			name: "do as, not allowed", change: nothing, query: "user.name=bob&doAs=alice", status: 403, setCookie: "hadoop.auth=\"u=bob",
			body: `{"RemoteException":{"message":"User: bob is not allowed to impersonate alice","exception":"AuthorizationException",` +
				`"javaClassName":"org.apache.hadoop.security.authorize.AuthorizationException"}}`,
		},
		{name: "nobody does as", change: nothing, query: "doAs=alice", status: 200, body: "dr.who,,null"},
		{name: "without a cluster", change: func(f *Filter) { f.Secrets = nil }, query: "user.name=alice", status: 200, body: "alice,,SIMPLE"},

		{name: "explicit: nobody", change: explicit, status: 401, setCookie: "hadoop.auth=; Path=/; HttpOnly", body: "Authentication required"},
		{name: "explicit: by name", change: explicit, query: "user.name=alice", status: 200, body: "alice,,simple", setCookie: `hadoop.auth="u=alice&p=alice&t=simple&e=`},
		{name: "explicit: no do as", change: explicit, query: "user.name=root&doAs=alice", status: 200, body: "root,,simple", setCookie: "hadoop.auth="},
		{
			name: "explicit: forged cookie", change: explicit, cookie: cookie("guess", "alice", "simple", later), status: 401,
			setCookie: "hadoop.auth=; Path=/; HttpOnly", body: "org.apache.hadoop.security.authentication.util.SignerException: Invalid signature",
		},
		{
			name: "explicit: nonsense cookie", change: explicit, cookie: "x", status: 401,
			setCookie: "hadoop.auth=; Path=/; HttpOnly", body: "SignerException: Invalid signed text: x",
		},
		{
			name: "explicit: expired cookie", change: explicit, cookie: cookie("secret", "alice", "simple", now.Add(-1)), status: 401,
			setCookie: "hadoop.auth=; Path=/; HttpOnly", body: "AuthenticationToken expired",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/x?"+c.query, nil)
			r.Header.Set("Accept", "text/plain")
			if c.cookie != "" {
				r.Header.Set("Cookie", CookieName+`="`+c.cookie+`"`)
			}
			w := httptest.NewRecorder()
			testFilter(c.change).ServeHTTP(w, r)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.body) {
				t.Errorf("got %d %q, want %d %q", w.Code, w.Body, c.status, c.body)
			}
			if got := w.Header().Get("Set-Cookie"); !strings.HasPrefix(got, c.setCookie) || c.setCookie == "" && got != "" {
				t.Errorf("got cookie %q, want %q", got, c.setCookie)
			}
			if challenge := w.Header().Get("WWW-Authenticate"); (challenge == "PseudoAuth") != (c.status == 401) {
				t.Errorf("WWW-Authenticate is %q", challenge)
			}
		})
	}
}

// TestCookieComesBack has the cookie of one answer stand for the user in the next request.
func TestCookieComesBack(t *testing.T) {
	h := testFilter(func(*Filter) {})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/?user.name=alice", nil))
	value, _, _ := strings.Cut(w.Header().Get("Set-Cookie"), ";")
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Cookie", value)
	w = httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Body.String() != "alice,,SIMPLE" || w.Header().Get("Set-Cookie") != "" {
		t.Errorf("got %q, cookie %q", w.Body, w.Header().Get("Set-Cookie"))
	}
}

func loaded(t testing.TB, settings ...string) *conf.Config {
	t.Helper()
	c, err := conf.Load(conf.Options{Overrides: settings})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var manager = Daemon{Role: "resourcemanager", Host: "localhost"}

func TestFromConf(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := FromConf(loaded(t), manager)
	if err != nil || !f.Anonymous || f.Static != "dr.who" || f.Validity != 10*time.Hour {
		t.Errorf("by default: %+v, %v", f, err)
	}
	explicit := []string{
		"hadoop.http.filter.initializers=" + initializer, prefix + "simple.anonymous.allowed=false", prefix + "token.validity=60",
		prefix + "signature.secret.file=" + secret,
	}
	f, err = FromConf(loaded(t, explicit...), manager)
	if err != nil || f.Anonymous || f.Static != "" || f.Validity != time.Minute || string(f.Secrets()[0]) != "s3cret\n" {
		t.Errorf("explicit: %+v, %v", f, err)
	}
	if _, err := FromConf(loaded(t, append(explicit, prefix+"signature.secret.file="+secret+".missing")...), manager); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without the file: %v", err)
	}
	if _, err := FromConf(loaded(t, append(explicit, prefix+"type=JWT")...), manager); err == nil {
		t.Error("a type that can't be had is taken")
	}
}

// A request of john@CORP.COM was john@CORP.COM's, and no list or mapping knew him: YARN's is john's.
func TestNamesOfWebUsersAreShort(t *testing.T) {
	f, err := FromConf(loaded(t), manager)
	if err != nil {
		t.Fatal(err)
	}
	f.MayActFor = func(context.Context, string, string, netip.Addr) error { return nil }
	h := f.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := From(r.Context())
		_, _ = w.Write([]byte(id.User + "," + id.Real))
	}))
	for query, want := range map[string]string{
		"user.name=john": "200 john,", "user.name=john@CORP.COM": "200 john,", "user.name=john/host@CORP.COM": "200 john,", "user.name=x/y": "200 x,",
		"user.name=root@A&doAs=john@CORP.COM": "200 john,root", "user.name=a@b@c": "403 HTTP ERROR 403 java.lang.IllegalArgumentException: Illegal principal name a@b@c",
	} {
		r := httptest.NewRequest("GET", "/x?"+query, nil)
		r.Header.Set("Accept", "text/plain")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if got := strconv.Itoa(w.Code) + " " + w.Body.String(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

// FuzzFilter comes with arbitrary queries and cookies. Nobody may become somebody by a cookie that wasn't signed.
func FuzzFilter(f *testing.F) {
	f.Add("user.name=alice", "x")
	f.Add("user.name=", `u=a&p=a&t=simple-dt&e=9&s=`)
	f.Add("%=%&doAs=x", cookie("secret", "alice", "simple-dt", now))
	filter := testFilter(func(*Filter) {})
	f.Fuzz(func(t *testing.T, query, value string) {
		r := &http.Request{Method: "GET", URL: &url.URL{Path: "/", RawQuery: query}, Header: http.Header{"Cookie": {CookieName + "=" + value}}}
		w := httptest.NewRecorder()
		filter.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Fatalf("status %d", w.Code)
		}
		if id := w.Body.String(); w.Code == 200 && !strings.Contains(query, "name") && id != "dr.who,,null" && !strings.Contains(value, "&s=") {
			t.Fatalf("taken for %s", id)
		}
	})
}

// Browsers send the cookie of a server with TLS by TLS alone.
func TestCookiesOfTLSAreSecure(t *testing.T) {
	for _, url := range []string{"http://rm/?user.name=alice", "https://rm/?user.name=alice"} {
		w := httptest.NewRecorder()
		testFilter(func(f *Filter) { f.Delegation = false }).ServeHTTP(w, httptest.NewRequest(http.MethodGet, url, nil))
		set := w.Header().Get("Set-Cookie")
		if want := strings.HasPrefix(url, "https"); set == "" || strings.Contains(set, "; Secure; HttpOnly") != want {
			t.Errorf("%s sets %q", url, set)
		}
	}
}
