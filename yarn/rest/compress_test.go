package rest

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
)

func compressingAPI() *API {
	log := logrus.New()
	log.Out = io.Discard
	a := NewAPI(logrus.NewEntry(log))
	a.MaxBody = 100
	get := func(path string, h Handler) { a.Handle(path, Methods{http.MethodGet: {Handle: h}}) }
	serve := func(h http.HandlerFunc) Handler { return func(*Call) (Reply, error) { return Reply{Serve: h}, nil } }
	get("/thing", func(*Call) (Reply, error) { return OK("thing", Natural, part{3}), nil })
	get("/missing", func(*Call) (Reply, error) { return Reply{}, NotFound("nothing") })
	get("/empty", func(*Call) (Reply, error) { return Reply{Status: http.StatusAccepted, Location: "/thing"}, nil })
	get("/part", serve(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", TextType)
		w.Header().Set("Content-Range", "bytes 0-3/9")
		w.WriteHeader(http.StatusPartialContent)
		_, _ = io.WriteString(w, "part")
	}))
	get("/bytes", serve(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", "5")
		_, _ = io.WriteString(w, "bytes")
	}))
	get("/log", serve(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", TextType)
		w.Header().Set("Content-Length", "8")
		w.Header().Set("ETag", `"x"`)
		_, _ = io.Copy(w, strings.NewReader("a "+"line\n\n"))
	}))
	get("/broken", serve(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", TextType)
		_, _ = io.WriteString(w, "the first half")
		panic(http.ErrAbortHandler)
	}))
	a.Handle("/read", Methods{http.MethodPut: {Handle: func(c *Call) (Reply, error) {
		b, err := c.Body()
		return Say(http.StatusOK, "%s", b), err
	}}})
	return a
}

func unzip(t *testing.T, b []byte) string {
	t.Helper()
	gz, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(gz)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestCompression(t *testing.T) {
	server := httptest.NewServer(compressingAPI())
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	for _, c := range []struct {
		name, path, takes string
		status            int
		zipped            bool
		want, tag         string
	}{
		{name: "asked for", path: "/thing", takes: "gzip", status: 200, zipped: true, want: `{"thing":{"n":3}}`},
		{name: "one of many", path: "/thing", takes: "deflate, GZIP;q=0.3, br", status: 200, zipped: true, want: `{"thing":{"n":3}}`},
		{name: "not asked for", path: "/thing", status: 200, want: `{"thing":{"n":3}}`},
		{name: "refused", path: "/thing", takes: "gzip;q=0", status: 200, want: `{"thing":{"n":3}}`},
		{name: "another", path: "/thing", takes: "br, *", status: 200, want: `{"thing":{"n":3}}`},
		{name: "an error", path: "/missing", takes: "gzip", status: 404, zipped: true, want: `{"RemoteException":{"exception":"NotFoundException",` +
			`"message":"java.lang.Exception: nothing","javaClassName":"org.apache.hadoop.yarn.webapp.NotFoundException"}}`},
		{name: "no body", path: "/empty", takes: "gzip", status: 202},
		{name: "part of a file", path: "/part", takes: "gzip", status: 206, want: "part"},
		{name: "other types", path: "/bytes", takes: "gzip", status: 200, want: "bytes"},
		{name: "a file with its length", path: "/log", takes: "gzip", status: 200, zipped: true, want: "a line\n\n", tag: `W/"x"`},
		{name: "a file as it is", path: "/log", status: 200, want: "a line\n\n", tag: `"x"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+c.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if c.takes != "" {
				r.Header.Set("Accept-Encoding", c.takes)
			}
			resp, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			got := string(body)
			if resp.Header.Get("Content-Encoding") == "gzip" != c.zipped || resp.Header.Get("Vary") != "Accept-Encoding" {
				t.Fatalf("%v", resp.Header)
			}
			if c.zipped {
				got = unzip(t, body)
			}
			if resp.StatusCode != c.status || got != c.want || resp.Header.Get("ETag") != c.tag {
				t.Errorf("%s %v %q", resp.Status, resp.Header, got)
			}
		})
	}
}

// An answer that is cut off must not look whole.
func TestBrokenOffCompression(t *testing.T) {
	server := httptest.NewServer(compressingAPI())
	defer server.Close()
	resp, err := http.Get(server.URL + "/broken") // Go's client asks for gzip
	if err != nil {
		return // nothing was sent yet
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("whole: %q", b)
	}
}

// What was written is there after a Flush.
func TestCompressedStream(t *testing.T) {
	w := httptest.NewRecorder()
	c := &compressor{ResponseWriter: w}
	c.Header().Set("Content-Type", TextType)
	_, _ = io.WriteString(c, "one")
	c.Flush()
	gz, err := gzip.NewReader(bytes.NewReader(w.Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 3)
	if _, err := io.ReadFull(gz, b); err != nil || string(b) != "one" || !w.Flushed {
		t.Errorf("%q %v", b, err)
	}
	_, _ = io.WriteString(c, " two")
	c.finish()
	if got := unzip(t, w.Body.Bytes()); got != "one two" {
		t.Errorf("%q", got)
	}
}

func TestCompressedBody(t *testing.T) {
	zip := func(s string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = io.WriteString(w, s)
		_ = w.Close()
		return b.String()
	}
	for _, c := range []struct {
		name, body string
		status     int
	}{
		{"read", zip("text"), 200},
		{"not what it says", "text", 400},
		{"larger than it looks", zip(strings.Repeat("x", 10000)), 413},
	} {
		r := httptest.NewRequest(http.MethodPut, "/read", strings.NewReader(c.body))
		r.Header.Set("Content-Encoding", "gzip")
		w := httptest.NewRecorder()
		compressingAPI().ServeHTTP(w, r)
		if w.Code != c.status || c.status == 200 && w.Body.String() != "text" {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
	}
}

// Parameters of JAX-RS in a path, and malformed ones of the query.
func TestOddPaths(t *testing.T) {
	a := compressingAPI()
	a.Handle("/say/{what}", Methods{http.MethodGet: {Handle: func(c *Call) (Reply, error) {
		return Say(http.StatusOK, "%s|%q", c.Var("what"), c.Query()["q"]), nil
	}}})
	for target, want := range map[string]string{
		"/say/a;b=c":           `a|[]`,
		"/say;x/a%2Fb;b=c/":    `a/b|[]`,
		"/say/a%3Bb":           `a;b|[]`,
		"/say/a?q=%zz&q=%20&q": `a|["%zz" " " ""]`,
		"/say/a?q=b;c&&=":      `a|["b;c"]`,
	} {
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
		if w.Code != 200 || w.Body.String() != want {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	for header, value := range map[string]string{"Accept": ";;,", "Content-Type": "nonsense"} {
		r := httptest.NewRequest(http.MethodGet, "/thing", nil)
		r.Header.Set(header, value)
		w := httptest.NewRecorder()
		if a.ServeHTTP(w, r); w.Code != http.StatusBadRequest {
			t.Errorf("%s %s: %d", header, value, w.Code)
		}
	}
}

// Hundreds of pages ask at the same moment: an answer that is under way holds little for its compression.
func TestCompressionHoldsLittleForAClient(t *testing.T) {
	const clients, most = 100, 64 << 10
	text := bytes.Repeat([]byte(`{"id":"host:45454","state":"RUNNING"},`), 1000)
	open := make([]*compressor, clients)
	measure := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := measure()
	for i := range open {
		w := httptest.NewRecorder()
		w.Header().Set("Content-Type", "application/json")
		open[i] = &compressor{ResponseWriter: w}
		if _, err := open[i].Write(text); err != nil {
			t.Fatal(err)
		}
	}
	each := (measure() - before) / clients
	runtime.KeepAlive(open)
	if each > most {
		t.Errorf("an answer of %d bytes that isn't at its end holds %d bytes, more than %d", len(text), each, most)
	}
}
