package registry

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"heddle/internal/imagetest"
	"heddle/nm/image/oci"
)

func image(t testing.TB, content string) imagetest.Image {
	return imagetest.Image{Layers: []imagetest.Layer{imagetest.Tar(t, imagetest.File("base", "base")), imagetest.Tar(t, imagetest.File("a", content))}, Gzip: true, Env: []string{"OF=" + content}}
}

func name(t testing.TB, text string) oci.Name {
	t.Helper()
	n, err := oci.ParseName(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func client(t testing.TB, cfg Config, urls ...string) *Client {
	t.Helper()
	var err error
	if cfg.Registries, err = ParseRegistries(urls); err != nil {
		t.Fatal(err)
	}
	if cfg.Dir == "" {
		cfg.Dir = filepath.Join(t.TempDir(), "names")
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func config(t testing.TB, text string) Logins {
	t.Helper()
	l, err := ParseConfig([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// blobs returns what the layers of an image are, as they come.
func blobs(t testing.TB, i Found) (all []string) {
	t.Helper()
	for _, l := range i.Layers {
		var b bytes.Buffer
		if err := l.Fetch(t.Context(), &b, 0); err != nil {
			t.Fatal(err)
		}
		if err := oci.CheckDigest(b.Bytes(), l.Digest); err != nil || int64(b.Len()) != l.Size {
			t.Errorf("%d bytes of %d: %v", b.Len(), l.Size, err)
		}
		all = append(all, b.String())
	}
	return all
}

// A real registry gives images by tag, by digest, and of an index that for this machine. A name keeps its image until it is asked for anew,
// also when the registry is away.
func TestImagesOfARegistry(t *testing.T) {
	r := imagetest.StartRegistry(t, imagetest.RegistryOptions{})
	first := r.Push(t, image(t, "first"), "team/x", "1")
	c := client(t, Config{}, r.URL)
	find := func(c *Client, reference string, fresh bool) Found {
		t.Helper()
		i, err := c.Find(t.Context(), name(t, r.Host+"/team/x"+reference), Logins{}, fresh)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	i := find(c, ":1", false)
	if len(blobs(t, i)) != 2 || i.Noted || i.Config.Config.Env[0] != "OF=first" {
		t.Errorf("%+v", i.Config)
	}
	var rest bytes.Buffer
	if err := i.Layers[0].Fetch(t.Context(), &rest, i.Layers[0].Size-5); err != nil || rest.Len() != 5 {
		t.Errorf("the last five bytes: %q, %v", rest.Bytes(), err)
	}
	if second := r.Push(t, image(t, "second"), "team/x", "1"); second == first {
		t.Fatal("both are one")
	}
	index := fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"manifests":[{"mediaType":%q,"digest":"sha256:%s","size":1,"platform":{"os":"linux","architecture":"none"}},`+
		`{"mediaType":%[2]q,"digest":"sha256:%[3]s","size":1,"platform":{"os":"linux","architecture":%[4]q}}]}`, imagetest.IndexType, imagetest.ManifestType, first, runtime.GOARCH)
	r.PushManifest(t, "team/x", "many", imagetest.IndexType, []byte(index))
	for _, s := range []struct {
		reference string
		fresh     bool
		want      string
		noted     bool
	}{
		{":1", false, "first", true},
		{":1", true, "second", false},
		{":1", false, "second", true},
		{"@sha256:" + first, false, "first", false},
		{"@sha256:" + imagetest.Digest([]byte(index)), false, "first", false},
		{":many", false, "first", false},
	} {
		if i := find(c, s.reference, s.fresh); i.Config.Config.Env[0] != "OF="+s.want || i.Noted != s.noted {
			t.Errorf("%+v: %v, noted %v", s, i.Config.Config.Env, i.Noted)
		}
	}
	for text, want := range map[string]error{r.Host + "/team/x:none": oci.ErrNotFound, r.Host + "/none": oci.ErrNotFound, "other.example.com/x": oci.ErrNotFound, "busybox": oci.ErrNotFound} {
		if _, err := c.Find(t.Context(), name(t, text), Logins{}, false); !errors.Is(err, want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	r.Stop()
	if i := find(client(t, Config{Dir: string(c.notes)}, r.URL), ":1", false); i.Config.Config.Env[0] != "OF=second" {
		t.Errorf("after a restart: %v", i.Config.Config.Env)
	}
}

const (
	user, password = "ann", "open sesame"
	hash           = "$2a$04$hwpLyOfYzqAVdcd/N.xhGOZ3/umj1rUGhankS.0ZJVn0rMgj3QbwK"
)

// certificate returns the files of a certificate for 127.0.0.1, and who trusts it.
func certificate(t *testing.T) (cert, key string, roots *x509.CertPool, web *http.Client) {
	t.Helper()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	pair := s.TLS.Certificates[0]
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = dir+"/cert", dir+"/key"
	for path, b := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots = x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return cert, key, roots, s.Client()
}

// A registry with TLS and passwords gives images to who has a login, and tells others what is missing. What one has pulled with a login
// isn't found without.
func TestLogins(t *testing.T) {
	cert, key, roots, web := certificate(t)
	r := imagetest.StartRegistry(t, imagetest.RegistryOptions{User: user, Pass: password, Hash: hash, Cert: cert, Key: key, Web: web})
	r.Push(t, image(t, "x"), "team/x", "1")
	n := name(t, r.Host+"/team/x:1")
	c := client(t, Config{Roots: roots}, r.Host)
	good := config(t, fmt.Sprintf(`{"auths":{"https://%s/v2/":{"auth":"YW5uOm9wZW4gc2VzYW1l"}}}`, r.Host))
	for _, s := range []struct {
		logins Logins
		want   string
	}{
		{good, ""},
		{Logins{}, "it wants a login"},
		{config(t, fmt.Sprintf(`{"auths":{%q:{"username":"ann","password":"wrong"}}}`, r.Host)), "it refuses the login"},
		{config(t, `{"auths":{"elsewhere":{"auth":"YW5uOm9wZW4gc2VzYW1l"}}}`), "it wants a login"},
		{good, ""},
	} {
		i, err := c.Find(t.Context(), n, s.logins, false)
		if s.want == "" && err == nil {
			blobs(t, i)
			continue
		}
		if err == nil || s.want == "" || !strings.Contains(err.Error(), s.want) || strings.Contains(err.Error(), "wrong") {
			t.Errorf("%v: %v; want %q", s.logins, err, s.want)
		}
	}
	own := client(t, Config{Roots: roots, Logins: good}, r.Host)
	if _, err := own.Find(t.Context(), n, Logins{}, false); err != nil {
		t.Errorf("with the node's login: %v", err)
	}
	if _, err := client(t, Config{Logins: good}, r.Host).Find(t.Context(), n, Logins{}, false); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a registry that no one vouches for: %v", err)
	}
}

// A registry that wants a token says where there are some: the login gets one there, and the registry itself never sees the password.
func TestTokens(t *testing.T) {
	r := imagetest.StartRegistry(t, imagetest.RegistryOptions{})
	r.Push(t, image(t, "x"), "team/x", "1")
	behind, err := url.Parse(r.URL)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(behind)
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if u, p, ok := q.BasicAuth(); !ok || u != user || p != password || q.FormValue("scope") != "repository:team/x:pull" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"token":"abc"}`)
	}))
	defer tokens.Close()
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch a := q.Header.Get("Authorization"); {
		case a == "Bearer abc":
			forward.ServeHTTP(w, q)
		case a != "":
			t.Errorf("the registry gets %q", a)
			fallthrough
		default:
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="%s/token",service="test",scope="repository:team/x:pull"`, tokens.URL))
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer front.Close()
	n := name(t, strings.TrimPrefix(front.URL, "http://")+"/team/x:1")
	good := config(t, fmt.Sprintf(`{"auths":{%q:{"username":%q,"password":%q}}}`, n.Registry, user, password))
	c := client(t, Config{}, front.URL)
	i, err := c.Find(t.Context(), n, good, false)
	if err != nil {
		t.Fatal(err)
	}
	blobs(t, i)
	if _, err := c.Find(t.Context(), n, Logins{}, false); err == nil || !strings.Contains(err.Error(), "login") {
		t.Errorf("without a login: %v", err)
	}
}

// liar is a registry that answers as it likes.
func liar(t *testing.T, answers map[string]func(http.ResponseWriter)) *httptest.Server {
	done := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		for part, f := range answers {
			if strings.Contains(q.URL.Path, part) {
				if f(w); w.Header().Get("Silent") != "" {
					<-done
				}
				return
			}
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(func() { close(done); s.CloseClientConnections(); s.Close() })
	return s
}

func text(s string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", imagetest.ManifestType)
		w.Header().Set("Content-Length", fmt.Sprint(len(s)))
		_, _ = io.WriteString(w, s)
	}
}

// silent begins an answer, and never ends it.
func silent(length int) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", fmt.Sprint(length))
		w.Header().Set("Silent", "yes")
		_, _ = io.WriteString(w, "x")
		w.(http.Flusher).Flush()
	}
}

// A registry may lie about everything: it gets an error soon, and nothing it says is taken for an image.
func TestLyingRegistries(t *testing.T) {
	config := fmt.Sprintf(`{"architecture":%q,"os":"linux","rootfs":{"diff_ids":["sha256:%064d"]}}`, runtime.GOARCH, 1)
	manifest := fmt.Sprintf(`{"config":{"digest":"sha256:%s","size":%d},"layers":[{"digest":"sha256:%064d","size":10}]}`, imagetest.Digest([]byte(config)), len(config), 2)
	pinned := "@sha256:" + imagetest.Digest([]byte("other"))
	redirected := func(to string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { w.Header().Set("Location", to); w.WriteHeader(http.StatusFound) }
	}
	for what, s := range map[string]struct {
		reference string
		answers   map[string]func(http.ResponseWriter)
		want      string
	}{
		"another manifest":      {pinned, map[string]func(http.ResponseWriter){"/manifests/": text(manifest)}, "digest"},
		"another config":        {":1", map[string]func(http.ResponseWriter){"/manifests/": text(manifest), "/blobs/": text(strings.Repeat("x", len(config)))}, "digest"},
		"a longer config":       {":1", map[string]func(http.ResponseWriter){"/manifests/": text(manifest), "/blobs/": text(config + "x")}, "Content-Length"},
		"no manifest":           {":1", map[string]func(http.ResponseWriter){"/manifests/": text("null")}, "digest"},
		"a manifest of 5 MB":    {":1", map[string]func(http.ResponseWriter){"/manifests/": text(strings.Repeat(" ", 5<<20))}, "longer than allowed"},
		"an index of itself":    {":1", map[string]func(http.ResponseWriter){"/manifests/": text(`{"manifests":[{"digest":"sha256:` + strings.Repeat("0", 64) + `"}]}`)}, "digest"},
		"a config of terabytes": {":1", map[string]func(http.ResponseWriter){"/manifests/": text(`{"config":{"digest":"sha256:` + strings.Repeat("0", 64) + `","size":8796093022208}}`)}, "at most"},
		"a negative size":       {":1", map[string]func(http.ResponseWriter){"/manifests/": text(`{"config":{"digest":"sha256:` + strings.Repeat("0", 64) + `","size":-5}}`)}, "at most"},
		"a redirect to a file":  {":1", map[string]func(http.ResponseWriter){"/manifests/": redirected("file:///etc/passwd")}, "not followed"},
		"redirects in a circle": {":1", map[string]func(http.ResponseWriter){"/manifests/": redirected("/v2/team/x/manifests/1")}, "redirects"},
		"silence":               {":1", map[string]func(http.ResponseWriter){"/manifests/": text(manifest), "/blobs/": silent(len(config))}, "sends nothing"},
		"a realm elsewhere": {":1", map[string]func(http.ResponseWriter){"/manifests/": func(w http.ResponseWriter) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="gopher://x/",service="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		}}, ""},
	} {
		t.Run(what, func(t *testing.T) {
			l := liar(t, s.answers)
			c := client(t, Config{}, l.URL)
			c.silence = 50 * time.Millisecond
			_, err := c.Find(t.Context(), name(t, strings.TrimPrefix(l.URL, "http://")+"/team/x"+s.reference), Logins{}, false)
			if err == nil || !strings.Contains(err.Error(), s.want) {
				t.Errorf("%v; want %q", err, s.want)
			}
			if notes, err := os.ReadDir(string(c.notes)); err != nil || len(notes) > 0 {
				t.Errorf("%v are noted, %v", notes, err)
			}
		})
	}
}

// There are at most so many notes: those that weren't used for long go first. Damaged ones don't count.
func TestNotesAreBounded(t *testing.T) {
	n := notes(t.TempDir())
	for i := range maxNotes + 10 {
		path, at := n.path(fmt.Sprint(i)), time.Unix(int64(i), 0)
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.write("new", oci.Parts{Manifest: []byte("m")}); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(string(n))
	if _, first := n.read("0"); err != nil || len(entries) != maxNotes || first {
		t.Errorf("%d notes, the first still there: %v, %v", len(entries), first, err)
	}
	if err := os.WriteFile(n.path("1009"), []byte(`{"mani`), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, ok := n.read("new"); !ok || string(p.Manifest) != "m" {
		t.Error("the last isn't there")
	}
	if _, ok := n.read("1009"); ok {
		t.Error("half a note counts")
	}
}

func TestNamesOfRegistries(t *testing.T) {
	for text, want := range map[string]Registry{
		"r.example.com": {Host: "r.example.com"}, "https://r.example.com:5000/": {Host: "r.example.com:5000"}, "http://10.0.0.1:5000": {Host: "10.0.0.1:5000", Plain: true},
		"": {}, "ftp://x": {}, "a b": {}, "x/y": {}, "http://": {}, "r:port": {}, "ä": {}, "-": {},
	} {
		all, err := ParseRegistries([]string{text})
		if (err == nil) != (want != Registry{}) || err == nil && all[0] != want {
			t.Errorf("%q: %v, %v", text, all, err)
		}
	}
}

// Whatever a key says, a registry's name is a host.
func FuzzParseRegistries(f *testing.F) {
	for _, s := range []string{"r.example.com:5000", "http://10.0.0.1", "https://r/", "a/b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ParseRegistries([]string{text})
		if err == nil && (strings.ContainsAny(all[0].Host, "/@ \n?#") || all[0].Host == "") {
			t.Errorf("%q is %+v", text, all)
		}
	})
}

// A config.json is what a user brings: it is read, or refused without its passwords in the error.
func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(`{"auths":{"https://index.docker.io/v1/":{"auth":"YTpi"},"r:5000":{"username":"a","password":"b"}},"credsStore":"x"}`))
	f.Add([]byte(`{"auths":{"x":{"auth":"!"}}}`))
	f.Add([]byte(`{"auths":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := ParseConfig(text)
		if err == nil && l.Over(l).mark("x") != l.mark("x") {
			t.Error("logins over themselves are others")
		}
	})
}

// An application's credentials are its user's: their logins are read, or refused.
func FuzzOfTokens(f *testing.F) {
	f.Add([]byte("HDTS\x00\x00\x00"))
	f.Add(credentials(f, "r.example.com", "YTpi"))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = OfTokens(b) })
}
