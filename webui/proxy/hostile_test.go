package proxy

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"heddle/yarn/rest/auth"
)

// What lets somebody act for a user stays here, however it is written.
func TestSecretsAreNotPassedOn(t *testing.T) {
	f := setUp(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.RawQuery) })
	w := f.ask("GET", livePath+"/x?a=1&delegation=T&DoAs=root&%64elegation=T&hadoop.auth=x&doAs&b=2", "Authorization", "Negotiate x", "Cookie", auth.CookieName+"=x", "X-Forwarded-For", "x")
	if got := w.Body.String(); !strings.HasSuffix(got, "a=1&b=2") || strings.Contains(got, "elegation") {
		t.Errorf("the application saw the query %q", got)
	}
	for _, name := range []string{"Authorization", "Cookie", "X-Forwarded-For"} {
		if v := f.seen[0].Header.Get(name); v != "" {
			t.Errorf("it saw %s: %s", name, v)
		}
	}
}

// An application changes nothing that a browser knows of the cluster's host.
func TestHeadersOfAnApplicationThatHarmTheHost(t *testing.T) {
	harmful := map[string]string{
		"Service-Worker-Allowed": "/", "Clear-Site-Data": `"cookies"`, "Alt-Svc": `h2="evil:443"`, "X-Frame-Options": "ALLOWALL", "Frame-Options": "ALLOWALL",
		"Strict-Transport-Security": "max-age=1", "Access-Control-Allow-Origin": "*", "Access-Control-Allow-Credentials": "true", "Refresh": "0; url=http://evil",
		"Link": "</x>; rel=preload", "Www-Authenticate": "Basic", "Public-Key-Pins": "x", "Nel": "x", "Report-To": "x", "Sourcemap": "x", "Origin-Agent-Cluster": "?0",
	}
	f := setUp(t, func(w http.ResponseWriter, r *http.Request) {
		for name, v := range harmful {
			w.Header().Set(name, v)
		}
		for _, c := range []string{
			auth.CookieName + "=x", " " + auth.CookieName + " =x", "\t" + auth.CookieName + "\t=x", "HADOOP.AUTH=x", "=" + auth.CookieName + "=x", auth.CookieName,
			"checked_application_7_0001=true", "proxy-user=root", "__Host-x=1", "own=1; Path=/; Domain=example.org",
		} {
			w.Header()["Set-Cookie"] = append(w.Header()["Set-Cookie"], c)
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, "<!doctype html><p>page")
	})
	w := f.ask("GET", livePath+"/")
	for name := range harmful {
		if v := w.Header().Get(name); v != "" {
			t.Errorf("%s: %s", name, v)
		}
	}
	if set := w.Header()["Set-Cookie"]; len(set) != 1 || set[0] != "own=1; Path="+livePath+"/" {
		t.Errorf("cookies %q", set)
	}
	if csp := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(csp, "sandbox ") || strings.Contains(csp, "allow-same-origin") {
		t.Errorf("policy %q", csp)
	}
	if got := w.Body.String(); !strings.HasPrefix(got, "<!doctype html><script>") || !strings.HasSuffix(got, "</script><p>page") {
		t.Errorf("page %q", got)
	}
}

// Only pages of the application may read what it answers, as those for whom they were made.
func TestOnlyAnApplicationsPagesShareItsAnswers(t *testing.T) {
	f := setUp(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "{}") })
	const own = livePath
	later := time.Now().Add(time.Hour)
	right := f.proxy.passFor(own, "alice", later)
	for name, x := range map[string]struct {
		pass string
		code int
		may  bool
	}{
		"its page":              {right, 200, true},
		"a page made for eve":   {f.proxy.passFor(own, "eve", later), 403, false},
		"another application's": {f.proxy.passFor("/proxy/application_7_0002", "alice", later), 200, false},
		"an old one":            {f.proxy.passFor(own, "alice", time.Now().Add(-time.Minute)), 200, false},
		"a forged one":          {right[:len(right)-2] + "AA", 200, false},
		"none":                  {"", 200, false},
	} {
		w := f.ask("GET", own+"/api/v1", "Origin", "null", passHeader, x.pass)
		if got := w.Header().Get("Access-Control-Allow-Origin"); w.Code != x.code || (got == "null") != x.may {
			t.Errorf("%s: %d, %q", name, w.Code, got)
		}
	}
	for _, r := range f.seen {
		if r.Header.Get(passHeader) != "" {
			t.Error("the application saw the pass")
		}
	}
	if w := f.ask("GET", own+"/api/v1", "Origin", "http://evil.org", passHeader, right); w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Error("another origin may read it")
	}
}

// FuzzHeaders: whatever an application answers, only what is harmless is handed back.
func FuzzHeaders(f *testing.F) {
	f.Add("hadoop.auth=x", "/next", "Service-Worker-Allowed", "/")
	f.Add(" hadoop.auth\t=x; Path=/", "http://rm:8088/proxy/redirect/application_7_0001/", "Set-Cookie2", "a=b")
	f.Add("=hadoop.auth=x", "javascript:alert(1)", "Content-Security-Policy", "sandbox allow-same-origin")
	f.Add("a=b; Domain=x", "//evil/proxy/", "Location", "http://evil")
	var cookie, next, name, value string
	fx := setUpFuzz(f, func(r *http.Request) *http.Response {
		h := http.Header{"Set-Cookie": {cookie}, name: {value}}
		if next != "" {
			h.Set("Location", next)
		}
		return &http.Response{StatusCode: 200, Header: h, Body: io.NopCloser(strings.NewReader("x")), Request: r}
	})
	allowed := map[string]bool{"Set-Cookie": true, "Location": true, "Referrer-Policy": true}
	for _, n := range handedBack {
		allowed[n] = true
	}
	f.Fuzz(func(t *testing.T, c, l, n, v string) {
		cookie, next, name, value = c, l, http.CanonicalHeaderKey(n), v
		w := fx.ask("GET", livePath+"/")
		for n := range w.Header() {
			if !allowed[n] {
				t.Errorf("%s is handed back", n)
			}
		}
		for _, c := range w.Header()["Set-Cookie"] {
			got, _, _ := strings.Cut(c, "=")
			if ownCookie(strings.TrimSpace(got)) || !strings.Contains(c, "Path="+livePath+"/") {
				t.Errorf("cookie %q", c)
			}
		}
		if to := strings.ToLower(w.Header().Get("Location")); to != "" && to[0] != '/' && !strings.HasPrefix(to, "http:") && !strings.HasPrefix(to, "https:") {
			t.Errorf("leads to %q", to)
		}
		if policies := w.Header()["Content-Security-Policy"]; w.Code == 200 && (len(policies) == 0 || policies[len(policies)-1] != sandbox) {
			t.Errorf("policies %q", policies)
		}
	})
}

type roundTrip func(*http.Request) *http.Response

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

func setUpFuzz(f *testing.F, answer roundTrip) *fixture {
	fx := newFixture("http://127.0.0.1:1")
	fx.proxy.client.Transport = answer
	f.Cleanup(fx.proxy.Close)
	return fx
}
