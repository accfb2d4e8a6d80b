package proxy

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"heddle/internal/keystore"
	"heddle/yarn/proxyca"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// certified returns the certificate of an ApplicationMaster's server.
func certified(t *testing.T, a *proxyca.Authority, app records.ApplicationID) *tls.Config {
	t.Helper()
	creds := &token.Credentials{}
	if err := a.Certify(creds, app, time.Now()); err != nil {
		t.Fatal(err)
	}
	raw, err := creds.Encode(token.FormatWritable)
	if err != nil {
		t.Fatal(err)
	}
	given := proxyca.Stores(raw)[0]
	s, err := keystore.Parse(given.Content, given.Password, "")
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{s.Keys[0].Certificate()}}
}

// Pages come from servers with the certificate of their application alone, also where another application's connection was just open.
func TestPagesWithCertificates(t *testing.T) {
	secret, err := proxyca.New(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	authority, err := proxyca.Open(secret)
	if err != nil {
		t.Fatal(err)
	}
	served := 0
	pages := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served++
		fmt.Fprintf(w, "page %s of %s", r.URL.Path, r.Header.Get("Cookie"))
	})
	server := httptest.NewUnstartedServer(pages)
	server.TLS = certified(t, authority, live)
	server.StartTLS()
	defer server.Close()
	open := httptest.NewServer(pages)
	defer open.Close()

	f := newFixture(server.URL)
	other := records.ApplicationID{ClusterTimestamp: 7, ID: 2}
	f.proxy.Lookup = func(records.ApplicationID) (App, bool) { return f.app, true }
	cfg := f.proxy.Config
	cfg.Authority, cfg.Strict = func() (*proxyca.Authority, error) { return authority, nil }, true
	f.proxy = New(cfg)
	defer f.proxy.Close()
	for _, x := range []struct {
		tracking string
		app      records.ApplicationID
		strict   bool
		ended    bool
		status   int
		text     string
	}{
		{server.URL, live, true, false, 200, "page /jobs of proxy-user=bob"},
		{server.URL, other, true, false, 502, "the certificate is that of &#34;CN=application_7_0001&#34;"},
		{server.URL, live, false, false, 200, "page /jobs"},
		{open.URL, live, true, false, 200, "HTTPS must be used"},
		{open.URL, live, true, true, 302, "moved"},
		{open.URL, live, false, false, 200, "page /jobs"},
	} {
		before := served
		f.proxy.Strict, f.app.Tracking, f.app.Ended = x.strict, x.tracking, x.ended
		w := f.ask(http.MethodGet, "/proxy/"+x.app.String()+"/jobs?user.name=bob")
		if w.Code != x.status || !strings.Contains(w.Body.String(), x.text) {
			t.Errorf("%+v: %d %s", x, w.Code, w.Body)
		}
		if got := served > before; got != strings.HasPrefix(x.text, "page") {
			t.Errorf("%+v: the application was asked: %v", x, got)
		}
	}
}

// Without an authority, before the first leader has made one, no page comes by HTTPS.
func TestPagesBeforeThereIsAnAuthority(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	f := newFixture(server.URL)
	cfg := f.proxy.Config
	cfg.Authority = func() (*proxyca.Authority, error) { return nil, fmt.Errorf("there is none yet") }
	f.proxy = New(cfg)
	defer f.proxy.Close()
	if w := f.ask(http.MethodGet, livePath+"/"); w.Code != http.StatusBadGateway || !strings.Contains(w.Body.String(), "there is none yet") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
