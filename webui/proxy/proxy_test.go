package proxy

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"heddle/internal/await"
	"heddle/yarn/records"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

var live = records.ApplicationID{ClusterTimestamp: 7, ID: 1}

const livePath = "/proxy/application_7_0001"

// fixture is an application's web server, and a proxy in front of it.
type fixture struct {
	*httptest.Server
	proxy *Proxy
	app   App
	seen  []*http.Request
	body  string
}

func setUp(t *testing.T, pages http.HandlerFunc) *fixture {
	t.Helper()
	f := &fixture{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		f.seen, f.body = append(f.seen, r), string(b)
		pages(w, r)
	}))
	proxied := newFixture(f.URL)
	f.app, f.proxy = proxied.app, proxied.proxy
	f.proxy.Lookup = func(id records.ApplicationID) (App, bool) { return f.app, id == live }
	t.Cleanup(func() {
		f.proxy.Close()
		f.Close()
	})
	return f
}

// newFixture is a proxy alone.
func newFixture(tracking string) *fixture {
	f := &fixture{app: App{User: "alice", Tracking: tracking, Hosts: []string{"127.0.0.1"}}}
	log := logrus.New()
	log.SetOutput(io.Discard)
	f.proxy = New(Config{
		Lookup: func(id records.ApplicationID) (App, bool) { return f.app, id == live },
		User:   func(r *http.Request) string { return r.URL.Query().Get("user.name") },
		MayView: func(user string, _ records.ApplicationID) bool {
			return user != "eve"
		},
		Pages: "http://rm:8088/cluster", Log: logrus.NewEntry(log),
	})
	return f
}

func (f *fixture) ask(method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader("content"))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	f.proxy.ServeHTTP(w, r)
	return w
}

func TestPassesRequestsOn(t *testing.T) {
	f := setUp(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Language", "de")
		w.Header().Set("Connection", "close")
		w.Header().Add("Set-Cookie", "own=1")
		w.Header().Add("Set-Cookie", `hadoop.auth="u=mallory"`)
		w.WriteHeader(http.StatusTeapot)
		io.WriteString(w, r.URL.RequestURI())
	})
	w := f.ask("GET", livePath+"/jobs/a%2Fb?x=1&user.name=bob%20b", "Accept", "text/x", "Cookie", "hadoop.auth=secret", "X-Own", "private")
	if w.Code != http.StatusTeapot || w.Body.String() != "/jobs/a%2Fb?x=1&user.name=bob%20b" || w.Header().Get("Content-Language") != "de" || w.Header().Get("Connection") != "" || len(w.Result().Cookies()) != 1 {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	got := f.seen[0].Header
	if got.Get("Cookie") != "proxy-user=bob+b" || got.Get("Accept") != "text/x" || got.Get("X-Own") != "" {
		t.Errorf("the application saw %v", got)
	}
	if w := f.ask("PUT", livePath+"/state"); w.Code != http.StatusTeapot || f.body != "content" {
		t.Errorf("%d %q", w.Code, f.body)
	}
	seen := len(f.seen)
	for method, want := range map[string]int{
		"OPTIONS": http.StatusOK, "POST": http.StatusMethodNotAllowed, "DELETE": http.StatusMethodNotAllowed,
		"PATCH": http.StatusNotImplemented, "PROPFIND": http.StatusNotImplemented,
	} {
		w := f.ask(method, livePath+"/state")
		if w.Code != want || (w.Header().Get("Allow") == "") != (want == http.StatusNotImplemented) {
			t.Errorf("%s: %d %v", method, w.Code, w.Header())
		}
	}
	if len(f.seen) != seen {
		t.Error("the application saw a request that isn't passed on")
	}
}

// A filter before an application's pages admits the proxy's host by its address, of which a machine may have several.
func TestComesFromTheAddressOfItsHost(t *testing.T) {
	f := setUp(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.RemoteAddr) })
	f.proxy.Pages = "http://127.0.0.2:8088/cluster"
	if w := f.ask("GET", livePath+"/"); w.Code != 200 || !strings.HasPrefix(w.Body.String(), "127.0.0.2:") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A program that asked for an application's address and follows no redirects got none of its pages, which YARN's proxy fetches.
func TestFollowsRedirectsOfTheFirstPage(t *testing.T) {
	f := setUp(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			http.Redirect(w, r, "/mapreduce", http.StatusFound)
		case "/mapreduce":
			http.Redirect(w, r, "http://"+r.Host+"/mapreduce/?all", http.StatusMovedPermanently)
		case "/mapreduce/":
			io.WriteString(w, "jobs of "+r.URL.RawQuery)
		case "/ring":
			http.Redirect(w, r, "/ring", http.StatusFound)
		case "/elsewhere":
			http.Redirect(w, r, "http://127.0.0.1:1/secret", http.StatusFound)
		case "/proxied":
			http.Redirect(w, r, livePath+"/jobs", http.StatusFound)
		case "/login":
			http.SetCookie(w, &http.Cookie{Name: "session", Value: "x"})
			http.Redirect(w, r, "/in", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	})
	for _, path := range []string{livePath, livePath + "/"} {
		if w := f.ask("GET", path); w.Code != 200 || w.Body.String() != "jobs of all" {
			t.Errorf("%s: %d %v %s", path, w.Code, w.Header(), w.Body)
		}
	}
	tracking := f.app.Tracking
	for page, want := range map[string]string{
		"/ring": f.URL + "/ring", "/elsewhere": "http://127.0.0.1:1/secret", "/proxied": livePath + "/jobs", "/login": f.URL + "/in",
	} {
		f.app.Tracking = tracking + page
		if w := f.ask("GET", livePath); w.Code != 302 || w.Header().Get("Location") != want {
			t.Errorf("%s: %d %v, want %s", page, w.Code, w.Header(), want)
		}
	}
}

func TestFollowsNoOtherRedirects(t *testing.T) {
	var f *fixture
	f = setUp(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/page":
			http.Redirect(w, r, "/mapreduce", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "http://rm:8088/proxy/redirect/application_7_0001/", http.StatusFound)
		case "/away":
			http.Redirect(w, r, "http://127.0.0.1:1/secret", http.StatusFound)
		case "/home":
			http.Redirect(w, r, f.URL+livePath+"/jobs?x", http.StatusFound)
		default:
			io.WriteString(w, r.URL.Path)
		}
	})
	for path, want := range map[string]string{
		livePath + "/page": livePath + "/mapreduce", livePath + "/home": livePath + "/jobs?x",
		livePath + "/away": "http://127.0.0.1:1/secret", // which the browser may see, but not the proxy
	} {
		if w := f.ask("GET", path); w.Code != 302 || w.Header().Get("Location") != want {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
	if w := f.ask("GET", livePath+"/loop"); w.Code != 302 || w.Header().Get("Location") != "http://rm:8088/cluster/failure/application_7_0001" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

func TestWhereThereIsNothingToShow(t *testing.T) {
	f := setUp(t, http.NotFound)
	history := "history:19888/job/1"
	for _, x := range []struct {
		app      App
		path     string
		status   int
		location string
	}{
		{App{Tracking: "N/A"}, livePath + "/", 302, "http://rm:8088/cluster/app/application_7_0001"},
		{App{Tracking: ""}, livePath + "/", 302, "http://rm:8088/cluster/app/application_7_0001"},
		{App{Tracking: "file:///etc/passwd"}, livePath + "/", 302, "http://rm:8088/cluster/app/application_7_0001"},
		{App{Tracking: history, Ended: true}, livePath + "/", 302, "http://" + history},
		{App{Tracking: history, Ended: true}, livePath + "/a/b?c=d", 302, "http://" + history + "/a/b?c=d"},
		{App{Tracking: "http://127.0.0.1:1/", Hosts: []string{"127.0.0.1"}}, livePath + "/", 502, ""},
		{App{Tracking: f.URL, Hosts: []string{"127.0.0.77.nowhere.invalid", "10.6.6.6"}}, livePath + "/", 403, ""},
		{App{Tracking: f.URL}, livePath + "/", 403, ""},
		{f.app, livePath + "/?user.name=eve", 403, ""},
		{f.app, "/proxy/application_7_0002/", 404, ""},
		{f.app, "/proxy/nonsense/", 400, ""},
		{f.app, "/proxy/", 400, ""},
		{f.app, "/proxy/redirect", 404, ""},
		{f.app, "/proxy/redirect/nonsense/", 400, ""},
	} {
		f.app = x.app
		if w := f.ask("GET", x.path); w.Code != x.status || w.Header().Get("Location") != x.location {
			t.Errorf("%s, %+v: %d %s", x.path, x.app, w.Code, w.Header().Get("Location"))
		}
	}
	if len(f.seen) != 0 {
		t.Errorf("the application was asked %d times", len(f.seen))
	}
}

// A user whom the application's filter sent here is served, unless it was this machine itself that the application turned away.
func TestRedirect(t *testing.T) {
	f := setUp(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.Path) })
	local := false
	f.proxy.Local = func(net.IP) bool { return local }
	if w := f.ask("GET", "/proxy/redirect/application_7_0001/x"); w.Code != 200 || w.Body.String() != "/x" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	local = true
	if w := f.ask("GET", "/proxy/redirect/application_7_0001/x"); w.Code != 302 || w.Header().Get("Location") != "http://rm:8088/cluster/failure/application_7_0001" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

func TestWarnsOfOthersPages(t *testing.T) {
	f := setUp(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "page "+r.URL.RawQuery) })
	f.proxy.Warn = true
	if w := f.ask("GET", livePath+"/?user.name=alice"); w.Body.String() != "page user.name=alice" {
		t.Errorf("the owner gets %s", w.Body)
	}
	w := f.ask("GET", livePath+"/x?user.name=bob")
	link := `href="` + livePath + `/x?proxyapproved=true&amp;user.name=bob"`
	if w.Code != 200 || !strings.Contains(w.Body.String(), link) {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	w = f.ask("GET", livePath+"/x?proxyapproved=true&user.name=bob")
	cookies := w.Result().Cookies()
	if w.Body.String() != "page user.name=bob" || len(cookies) != 1 || cookies[0].Path != livePath+"/" {
		t.Fatalf("%s %v", w.Body, cookies)
	}
	if w = f.ask("GET", livePath+"/x?user.name=bob", "Cookie", cookies[0].Name+"="+cookies[0].Value); w.Body.String() != "page user.name=bob" {
		t.Errorf("warned again: %s", w.Body)
	}
}

func FuzzPath(f *testing.F) {
	for _, s := range []string{"/proxy/application_7_0001/a", "/proxy/redirect/application_7_0001", "/proxy//", "/proxy/application_7_0001/%2e%2e/%00?x"} {
		f.Add(s, "host:1/base", "a=b&proxyapproved=true")
	}
	f.Fuzz(func(t *testing.T, p, tracking, query string) {
		_, below, _ := split(p)
		u, err := target(tracking, below, query)
		if err == nil && (u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
			t.Errorf("%q leads to %v", tracking, u)
		}
	})
}
