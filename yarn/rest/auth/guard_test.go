package auth

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"heddle/conf/conftest"
	"heddle/yarn/rest"
)

func guarded(t *testing.T, set map[string]string) func(method, host string, headers ...string) int {
	t.Helper()
	wrap, err := Guards(conftest.With(t, set), "resourcemanager", logrus.NewEntry(logrus.New()), func(o string) bool { return o == "http://friend.example.org" })
	if err != nil {
		t.Fatal(err)
	}
	h := wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	return func(method, host string, headers ...string) int {
		r := httptest.NewRequest(method, "/ws/v1/cluster/info", nil)
		r.Host = host
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
}

// A name that somebody made to mean this machine isn't this server's, whoever asks.
func TestForeignHostIsRefused(t *testing.T) {
	ask := guarded(t, map[string]string{"yarn.resourcemanager.webapp.address.rm1": "rm1.example.org:8088", "heddle.http.allowed-hosts": "alias.example.org"})
	for host, want := range map[string]int{
		"rm1.example.org:8088": 200, "RM1.example.org.": 200, "alias.example.org": 200, "127.0.0.1:8088": 200, "[::1]:8088": 200, "localhost": 200,
		"master:8088": 200, "": 200, "evil.example.net": 421, "rm1.example.org.evil.net:8088": 421, "127.0.0.1.evil.net": 421,
	} {
		if got := ask("GET", host); got != want {
			t.Errorf("%q: %d", host, got)
		}
	}
	if got := guarded(t, map[string]string{"heddle.http.allowed-hosts": "*"})("GET", "any.example.net"); got != 200 {
		t.Errorf("with all names admitted: %d", got)
	}
}

// A page of another origin may not have its reader's browser change anything.
// An alias of the name service got 421, and no log told an administrator why.
func TestARefusedNameIsLoggedOnce(t *testing.T) {
	log := logrus.New()
	var out bytes.Buffer
	log.SetOutput(&out)
	wrap, err := Guards(conftest.With(t, nil), "resourcemanager", logrus.NewEntry(log), nil)
	if err != nil {
		t.Fatal(err)
	}
	h := wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	ask := func(host string) {
		r := httptest.NewRequest("GET", "/cluster", nil)
		r.Host = host
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != http.StatusMisdirectedRequest {
			t.Errorf("%s: %d", host, w.Code)
		}
	}
	ask("yarn.example.com:8088")
	ask("YARN.example.com")
	if text := out.String(); strings.Count(text, "yarn.example.com") != 1 || !strings.Contains(text, "heddle.http.allowed-hosts") {
		t.Errorf("%s", text)
	}
	for i := range 1000 {
		ask(fmt.Sprintf("h%d.example.com", i))
	}
	if n := strings.Count(out.String(), "\n"); n != 100 {
		t.Errorf("%d lines for 1001 names", n)
	}
}

func TestCrossSiteChangesAreRefused(t *testing.T) {
	ask := guarded(t, nil)
	const host = "rm:8088"
	for _, x := range []struct {
		method string
		want   int
		header []string
	}{
		{"POST", 200, nil},
		{"PUT", 200, []string{"Origin", "http://rm:8088"}},
		{"PUT", 200, []string{"Sec-Fetch-Site", "same-origin"}},
		{"GET", 200, []string{"Origin", "http://evil.example.net", "Sec-Fetch-Site", "cross-site"}},
		{"POST", 200, []string{"Origin", "http://friend.example.org"}},
		{"POST", 403, []string{"Origin", "http://evil.example.net", "Content-Type", "text/plain"}},
		{"POST", 403, []string{"Origin", "null"}},
		{"DELETE", 403, []string{"Origin", "http://rm:8089"}},
		{"POST", 403, []string{"Sec-Fetch-Site", "cross-site"}},
		{"POST", 403, []string{"Sec-Fetch-Site", "same-site"}},
	} {
		if got := ask(x.method, host, x.header...); got != x.want {
			t.Errorf("%s with %q: %d", x.method, x.header, got)
		}
	}
}

// Other people's pages had their readers' browsers send GETs that change something. Most of these say nothing of where they come from.
func TestGETsThatChangeSomethingAreAsked(t *testing.T) {
	const (
		browser = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"
		path    = "/ws/v1/cluster/scheduler-conf/format"
	)
	for _, csrf := range []string{"false", "true"} {
		wrap, err := Guards(conftest.With(t, map[string]string{"yarn.resourcemanager.webapp.rest-csrf.enabled": csrf}), "resourcemanager", logrus.NewEntry(logrus.New()), func(o string) bool { return o == "http://friend.example.org" })
		if err != nil {
			t.Fatal(err)
		}
		changed := false
		h := wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !rest.MayChange(r) {
				rest.UnaskedChange(w, r)
				return
			}
			changed = true
		}))
		for _, x := range []struct {
			name   string
			may    bool
			header []string
		}{
			{"curl", true, []string{"User-Agent", "curl/8.5.0"}},
			{"a Java client", true, []string{"User-Agent", "Java/1.8.0_402"}},
			{"no name", true, nil},
			{"a program that calls itself a browser", true, []string{"User-Agent", browser, "X-Requested-By", "PowerShell"}},
			{"an address that was typed, with TLS", true, []string{"User-Agent", browser, "Sec-Fetch-Site", "none"}},
			{"our page, with TLS", true, []string{"User-Agent", browser, "Sec-Fetch-Site", "same-origin", "Referer", "https://rm:8088/cluster"}},
			{"the form on the same page", true, []string{"User-Agent", browser, "Referer", "http://rm:8088" + path + "?x"}},
			{"the form, behind a proxy", true, []string{"User-Agent", browser, "Referer", "https://gate.example.org" + path, "X-Forwarded-Host", "gate.example.org"}},
			{"an origin that is configured", true, []string{"User-Agent", browser, "Origin", "http://friend.example.org", "Sec-Fetch-Site", "cross-site"}},

			{"a picture in a foreign page", false, []string{"User-Agent", browser, "Referer", "http://evil.example.net/"}},
			{"one that hides where it comes from", false, []string{"User-Agent", browser}},
			{"one that asks by a script", false, []string{"User-Agent", browser, "Origin", "http://evil.example.net"}},
			{"a link that was followed, with TLS", false, []string{"User-Agent", browser, "Sec-Fetch-Site", "cross-site"}},
			{"a page on another port, with TLS", false, []string{"User-Agent", browser, "Sec-Fetch-Site", "same-site", "Referer", "http://rm:9999" + path}},
			{"the page of an application, which has our host", false, []string{"User-Agent", browser, "Referer", "http://rm:8088/proxy/application_1_0001/"}},
			{"the same, hiding its path", false, []string{"User-Agent", browser, "Referer", "http://rm:8088/"}},
			{"the same, in its sandbox", false, []string{"User-Agent", browser, "Origin", "null"}},
			{"another browser", false, []string{"User-Agent", "Opera/9.80"}},
		} {
			for _, method := range []string{"GET", "HEAD"} {
				r := httptest.NewRequest(method, path, nil)
				r.Host = "rm:8088"
				for i := 0; i < len(x.header); i += 2 {
					r.Header.Set(x.header[i], x.header[i+1])
				}
				w := httptest.NewRecorder()
				changed = false
				h.ServeHTTP(w, r)
				if changed != x.may || (w.Code == http.StatusForbidden) == x.may {
					t.Errorf("rest-csrf %s: %s by %s: %d", csrf, method, x.name, w.Code)
				}
			}
		}
	}
}

// That pages may be in no frame had no effect.
func TestPagesAreInNoFrameIfThatIsConfigured(t *testing.T) {
	for value, want := range map[string]string{"DENY": "DENY", "SAMEORIGIN": ""} {
		wrap, err := Guards(conftest.With(t, map[string]string{"yarn.resourcemanager.webapp.xfs-filter.xframe-options": value}), "resourcemanager", logrus.NewEntry(logrus.New()), nil)
		if err != nil {
			t.Fatal(err)
		}
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "http://rm/", nil)
		wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		if got := w.Header().Get("X-Frame-Options"); got != want || (w.Header().Get("Content-Security-Policy") != "") != (value == "DENY") {
			t.Errorf("%s: %v", value, w.Header())
		}
	}
}

// Hadoop's filter asks browsers for a header, where it is turned on.
func TestRestCSRF(t *testing.T) {
	const prefix = "yarn.resourcemanager.webapp.rest-csrf."
	if got := guarded(t, nil)("POST", "rm", "User-Agent", "Mozilla/5.0"); got != 200 {
		t.Errorf("turned off: %d", got)
	}
	ask := guarded(t, map[string]string{prefix + "enabled": "true"})
	for _, x := range []struct {
		method string
		want   int
		header []string
	}{
		{"POST", 400, []string{"User-Agent", "Mozilla/5.0"}},
		{"POST", 400, []string{"User-Agent", "Opera/9"}},
		{"POST", 200, []string{"User-Agent", "Mozilla/5.0", "X-XSRF-Header", ""}},
		{"POST", 200, []string{"User-Agent", "curl/8"}},
		{"POST", 200, nil},
		{"GET", 200, []string{"User-Agent", "Mozilla/5.0"}},
		{"HEAD", 200, []string{"User-Agent", "Mozilla/5.0"}},
	} {
		if got := ask(x.method, "rm", x.header...); got != x.want {
			t.Errorf("%s with %q: %d", x.method, x.header, got)
		}
	}
	ask = guarded(t, map[string]string{prefix + "enabled": "true", prefix + "custom-header": "X-Mine", prefix + "methods-to-ignore": "POST", prefix + "browser-useragents-regex": "curl.*"})
	if a, b, c := ask("GET", "rm", "User-Agent", "curl/8"), ask("GET", "rm", "User-Agent", "curl/8", "X-Mine", "1"), ask("POST", "rm", "User-Agent", "curl/8"); a != 400 || b != 200 || c != 200 {
		t.Errorf("as configured: %d, %d, %d", a, b, c)
	}
}
