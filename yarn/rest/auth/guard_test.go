package auth

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"heddle/conf/conftest"
)

func guarded(t *testing.T, set map[string]string) func(method, host string, headers ...string) int {
	t.Helper()
	wrap, err := Guards(conftest.With(t, set), "resourcemanager", func(o string) bool { return o == "http://friend.example.org" })
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
