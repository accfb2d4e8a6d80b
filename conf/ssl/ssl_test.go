package ssl

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"software.sslmate.com/src/go-pkcs12"

	"heddle/conf"
	"heddle/internal/await"
)

// authority signs certificates of a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{}
	a.cert, a.key = make1(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotAfter: time.Now().Add(time.Hour),
	}, nil)
	return a
}

// make1 makes a certificate that an authority signs, or that signs itself.
func make1(t *testing.T, x *x509.Certificate, by *authority) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	x.SerialNumber, x.NotBefore = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour)
	if x.NotAfter.IsZero() {
		x.NotAfter = time.Now().Add(24 * time.Hour)
	}
	parent, signer := x, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	raw, err := x509.CreateCertificate(rand.Reader, x, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// keystore writes a PKCS12 file with a certificate, by rename as an administrator should.
func (a *authority) keystore(t *testing.T, path string, x *x509.Certificate) {
	t.Helper()
	cert, key := make1(t, x, a)
	b, err := pkcs12.Modern.Encode(key, cert, []*x509.Certificate{a.cert}, "storepass")
	if err == nil {
		err = os.WriteFile(path+".new", b, 0o600)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (a *authority) truststore(t *testing.T, path string) {
	t.Helper()
	b, err := pkcs12.Modern.EncodeTrustStore([]*x509.Certificate{a.cert}, "trustpass")
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func writeXML(t *testing.T, path string, keys map[string]string) {
	t.Helper()
	b := bytes.NewBufferString("<configuration>")
	for k, v := range keys {
		fmt.Fprintf(b, "<property><name>%s</name><value>%s</value></property>", k, v)
	}
	b.WriteString("</configuration>")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// folder is a configuration folder with HTTPS, whose files a test changes.
type folder struct {
	t    *testing.T
	dir  string
	by   *authority
	ssl  map[string]string
	core map[string]string
}

func newFolder(t *testing.T) *folder {
	f := &folder{t: t, dir: t.TempDir(), by: newAuthority(t)}
	at := func(name string) string { return filepath.Join(f.dir, name) }
	f.by.keystore(t, at("key.p12"), &x509.Certificate{DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	f.by.truststore(t, at("trust.p12"))
	f.ssl = map[string]string{"ssl.server.keystore.location": at("key.p12"), "ssl.server.keystore.password": "storepass", "ssl.server.stores.reload.interval": "1"}
	f.core = map[string]string{"yarn.http.policy": "HTTPS_ONLY"}
	writeXML(t, at("ssl-client.xml"), map[string]string{
		"ssl.client.truststore.location": at("trust.p12"), "ssl.client.truststore.password": "trustpass",
		"ssl.client.keystore.location": at("key.p12"), "ssl.client.keystore.password": "storepass",
	})
	return f
}

func (f *folder) load() *conf.Config {
	f.t.Helper()
	writeXML(f.t, filepath.Join(f.dir, "ssl-server.xml"), f.ssl)
	writeXML(f.t, filepath.Join(f.dir, "core-site.xml"), f.core)
	c, err := conf.Load(conf.Options{Dir: f.dir})
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

// serve serves HTTPS and returns its address.
func serve(t *testing.T, c *tls.Config) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := "nobody"
		if len(r.TLS.PeerCertificates) > 0 {
			name = r.TLS.PeerCertificates[0].Subject.CommonName
		}
		fmt.Fprintf(w, "%s %s", tls.VersionName(r.TLS.Version), name)
	}))
	s.Listener = tls.NewListener(s.Listener, c)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	return strings.Replace(s.URL, "http://", "https://", 1)
}

func get(c *conf.Config, url string) (string, error) {
	trust, err := Client(c)
	if err != nil {
		return "", err
	}
	next := trust.Transport()
	next.Proxy = nil
	defer next.CloseIdleConnections()
	resp, err := (&http.Client{Transport: next, Timeout: 10 * time.Second}).Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func TestWeb(t *testing.T) {
	f := newFolder(t)
	c := f.load()
	s, err := Web(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, s)
	for _, u := range []string{url, strings.Replace(url, "127.0.0.1", "localhost", 1)} {
		if got, err := get(c, u); err != nil || got != "TLS 1.3 nobody" {
			t.Errorf("%s: %q, %v", u, got, err)
		}
	}
	if err := os.Remove(filepath.Join(f.dir, "ssl-client.xml")); err != nil {
		t.Fatal(err)
	}
	if got, err := get(f.load(), url); err == nil {
		t.Errorf("a server of an unknown authority is trusted: %q", got)
	}
	c.Set("yarn.http.policy", "HTTP_AND_HTTPS")
	if s, err := Web(c, nil); s != nil || err != nil {
		t.Error(s, err)
	}
}

// A certificate that is replaced is shown at the next connection; one that can't be read is not.
func TestReload(t *testing.T) {
	f := newFolder(t)
	c := f.load()
	var said bytes.Buffer
	l := logrus.New()
	l.SetOutput(&said)
	s, err := Web(c, logrus.NewEntry(l))
	if err != nil {
		t.Fatal(err)
	}
	url := strings.Replace(serve(t, s), "127.0.0.1", "localhost", 1)
	shown := func() string {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	first := shown()
	f.by.keystore(t, filepath.Join(f.dir, "key.p12"), &x509.Certificate{DNSNames: []string{"localhost"}})
	var second string
	await.Until(t, "the new certificate is shown", func() bool {
		second = shown()
		return second != first
	})
	if err := os.WriteFile(filepath.Join(f.dir, "key.p12"), []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the log says that it can't be read", func() bool {
		if got := shown(); got != second {
			t.Error("the last good certificate isn't kept")
		}
		return strings.Contains(said.String(), "this is no keystore")
	})
}

func TestClientCertificates(t *testing.T) {
	f := newFolder(t)
	maps.Copy(f.ssl, map[string]string{
		needClient: "true", "ssl.server.truststore.location": filepath.Join(f.dir, "trust.p12"), "ssl.server.truststore.password": "trustpass",
	})
	f.by.keystore(t, filepath.Join(f.dir, "key.p12"), &x509.Certificate{Subject: pkix.Name{CommonName: "alice"}, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	c := f.load()
	s, err := Web(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, s)
	if got, err := get(c, url); err != nil || got != "TLS 1.3 alice" {
		t.Errorf("%q, %v", got, err)
	}
	if conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), &tls.Config{InsecureSkipVerify: true}); err == nil {
		_, err = conn.Read(make([]byte, 1)) // TLS 1.3 tells it with the first bytes
		if err == nil {
			t.Error("a client without a certificate is served")
		}
		_ = conn.Close()
	}
	delete(f.ssl, "ssl.server.truststore.location")
	if _, err := Web(f.load(), nil); err == nil || !strings.Contains(err.Error(), "ssl.server.truststore.location isn't set") {
		t.Error(err)
	}
}

func TestVersionsAndCiphers(t *testing.T) {
	const weak, strong = "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
	for name, x := range map[string]struct {
		core, ssl map[string]string
		want      string
		bad       string
	}{
		"TLS 1.2 and newer":   {map[string]string{protocols: "TLSv1.2"}, nil, "TLS 1.3", ""},
		"old ones as well":    {map[string]string{protocols: "TLSv1,SSLv2Hello,TLSv1.1,TLSv1.2"}, nil, "TLS 1.2", ""},
		"TLS 1.3 alone":       {map[string]string{protocols: "TLSv1.3"}, nil, "TLS 1.3", ""},
		"old ones alone":      {map[string]string{protocols: "TLSv1.1"}, nil, "", "older versions aren't safe"},
		"a list":              {nil, map[string]string{excluded: weak + ", SSL_RSA_WITH_RC4_128_MD5"}, "TLS 1.3", ""},
		"one of TLS 1.3":      {nil, map[string]string{excluded: "TLS_AES_128_GCM_SHA256"}, "TLS 1.2", ""},
		"one alone":           {nil, map[string]string{included: strong}, "TLS 1.2", ""},
		"none that we have":   {nil, map[string]string{included: "SSL_RSA_WITH_RC4_128_MD5"}, "", "leave no cipher suite"},
		"another factory":     {map[string]string{factory: "org.example.Keys"}, nil, "", "come from the files"},
		"a missing keystore":  {nil, map[string]string{"ssl.server.keystore.location": "/nowhere/key.p12"}, "", "no such file"},
		"no keystore":         {nil, map[string]string{"ssl.server.keystore.location": ""}, "", "ssl.server.keystore.location isn't set"},
		"a wrong password":    {nil, map[string]string{"ssl.server.keystore.password": "x"}, "", "the password is wrong"},
		"no password":         {nil, map[string]string{"ssl.server.keystore.password": ""}, "", "hadoop credential create ssl.server.keystore.password"},
		"a password of a key": {nil, map[string]string{"ssl.server.keystore.keypassword": "storepass"}, "TLS 1.3", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			maps.Copy(f.core, x.core)
			maps.Copy(f.ssl, x.ssl)
			c := f.load()
			s, err := Web(c, nil)
			if x.bad != "" {
				if err == nil || !strings.Contains(err.Error(), x.bad) || strings.Contains(err.Error(), "storepass") {
					t.Errorf("%v, want %q", err, x.bad)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, err := get(c, serve(t, s)); err != nil || got != x.want+" nobody" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// Names are compared as Java does it: a certificate without alternative names is taken by its common name.
func TestNamesOfServers(t *testing.T) {
	for name, x := range map[string]struct {
		cert     x509.Certificate
		verifier string
		good     bool
	}{
		"an alternative name":        {x509.Certificate{DNSNames: []string{"localhost"}}, "DEFAULT", true},
		"another one":                {x509.Certificate{DNSNames: []string{"elsewhere"}, Subject: pkix.Name{CommonName: "localhost"}}, "DEFAULT", false},
		"a common name":              {x509.Certificate{Subject: pkix.Name{CommonName: "LocalHost"}}, "DEFAULT", true},
		"another common name":        {x509.Certificate{Subject: pkix.Name{CommonName: "elsewhere"}}, "STRICT", false},
		"any, on this machine":       {x509.Certificate{DNSNames: []string{"elsewhere"}}, "default_and_localhost", true},
		"any":                        {x509.Certificate{DNSNames: []string{"elsewhere"}}, "ALLOW_ALL", true},
		"none":                       {x509.Certificate{}, "DEFAULT", false},
		"one that has ended":         {x509.Certificate{DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(-time.Minute)}, "ALLOW_ALL", false},
		"a verifier that nobody has": {x509.Certificate{DNSNames: []string{"localhost"}}, "SOME", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			f.by.keystore(t, filepath.Join(f.dir, "key.p12"), &x.cert)
			f.core[verifier] = x.verifier
			c := f.load()
			s, err := Web(c, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := get(c, strings.Replace(serve(t, s), "127.0.0.1", "localhost", 1)); (err == nil) != x.good {
				t.Error(err)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	f := newFolder(t)
	f.ssl["ssl.server.keystore.pasword"] = "x"
	c := f.load()
	var text strings.Builder
	for _, p := range Problems(c, "rm1.example.com", time.Now()) {
		fmt.Fprintln(&text, p)
	}
	for _, want := range []string{"ssl.server.keystore.pasword", "clients that ask for rm1.example.com won't trust it", "ends at"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &text)
		}
	}
	if strings.Contains(text.String(), "storepass") {
		t.Error(text.String())
	}
	c.Set("yarn.http.policy", "http_and_https")
	if all := Problems(c, "localhost", time.Now()); len(all) != 1 || !strings.Contains(all[0].Message, "HTTP alone") {
		t.Error(all)
	}
}

// The shuffle asks for certificates by another key, and has another file.
func TestShuffle(t *testing.T) {
	f := newFolder(t)
	if s, err := Shuffle(f.load(), nil); s != nil || err != nil {
		t.Error(s, err)
	}
	f.core[shuffleKey], f.core[shuffleFile] = "true", "ssl-shuffle.xml"
	c := f.load()
	if _, err := Shuffle(c, nil); err == nil || !strings.Contains(err.Error(), "ssl-shuffle.xml") {
		t.Error(err)
	}
	if err := os.Rename(filepath.Join(f.dir, "ssl-server.xml"), filepath.Join(f.dir, "ssl-shuffle.xml")); err != nil {
		t.Fatal(err)
	}
	s, err := Shuffle(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := get(c, serve(t, s)); err != nil || !strings.HasSuffix(got, "nobody") {
		t.Errorf("%q, %v", got, err)
	}
}
