package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/yarn/rest"
	"heddle/yarn/rest/auth"
)

func ask(h http.Handler, method, target string, accept ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	for _, a := range accept {
		r.Header.Set("Accept", a)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestConf(t *testing.T) {
	c, err := conf.Load(conf.Options{Overrides: []string{"yarn.acl.enable=true"}})
	if err != nil {
		t.Fatal(err)
	}
	h := Conf(c)
	for _, x := range []struct {
		target, accept string
		status         int
		kind, want     string
	}{
		{"/conf", "*/*", 200, "text/xml;charset=utf-8", "<name>yarn.admin.acl</name>"},
		{"/conf?name=yarn.acl.enable", "*/*", 200, "text/xml;charset=utf-8", "<value>true</value>"},
		{"/conf?name=yarn.acl.enable&format=json", "*/*", 200, "text/xml;charset=utf-8", "<value>true</value>"},
		{"/conf", "application/json", 200, "application/json;charset=utf-8", `"key":"yarn.admin.acl"`},
		{"/conf?name=no.such.key", "*/*", 404, "text/xml;charset=utf-8", ""},
	} {
		w := ask(h, "GET", x.target, x.accept)
		if w.Code != x.status || w.Header().Get("Content-Type") != x.kind || !strings.Contains(w.Body.String(), x.want) {
			t.Errorf("%s, %s: %d %s %.200s", x.target, x.accept, w.Code, w.Header().Get("Content-Type"), w.Body)
		}
	}
	if w := ask(h, "POST", "/conf", "*/*"); w.Code != 405 || !strings.Contains(w.Body.String(), "<title>Error 405 HTTP method POST is not supported by this URL</title>") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestJMX(t *testing.T) {
	h := JMX(func() []Bean {
		return []Bean{
			{"Hadoop:service=NodeManager,name=A", "AType", []Attr{{"tag.Context", "x"}, {"N", 3}, {"F", math.NaN()}}},
			{"Hadoop:service=NodeManager,name=A,q0=root", "BType", []Attr{{"Bool", true}}},
			{"java.lang:type=Runtime", "R", nil},
		}
	})
	const a = `{"name":"Hadoop:service=NodeManager,name=A","modelerType":"AType","tag.Context":"x","N":3,"F":"NaN"}`
	const b = `{"name":"Hadoop:service=NodeManager,name=A,q0=root","modelerType":"BType","Bool":true}`
	const r = `{"name":"java.lang:type=Runtime","modelerType":"R"}`
	for query, want := range map[string]string{
		"":                                  `{"beans":[` + a + `,` + b + `,` + r + `]}`,
		"?qry=Hadoop:*":                     `{"beans":[` + a + `,` + b + `]}`,
		"?qry=Hadoop:name=A,service=*":      `{"beans":[` + a + `]}`,
		"?qry=Hadoop:service=Node?anager,*": `{"beans":[` + a + `,` + b + `]}`,
		"?qry=*:type=R*e":                   `{"beans":[` + r + `]}`,
		"?qry=Hadoop:service=Nothing,*":     `{"beans":[]}`,
		"?get=java.lang:type=Nothing::X":    `{"beans":[]}`,
		"?get=java.lang:type=Run*::X":       `{"beans":[{"name":"java.lang:type=Runtime","modelerType":"R","result":"ERROR","message":"No attribute with name X was found."}]}`,
		"?get=":                             `{"result":"ERROR","message":"query format is not as expected."}`,
		"?get=nonsense::X":                  `{}`,
		"?qry=nonsense":                     `{}`,
		"?qry=a:":                           `{}`,
		"?qry=a:b":                          `{}`,
		"?qry=a:b=c,b=d":                    `{}`,
		"?qry=*:*,*":                        `{}`,
		"?qry=a:b*=c":                       `{}`,
		"?qry=:type=Runtime":                `{"beans":[]}`,
		"?get=Hadoop:service=NodeManager":   `{"result":"ERROR","message":"query format is not as expected."}`,
		"?get=java.lang:type=Runtime::X::Y": `{"result":"ERROR","message":"query format is not as expected."}`,
		"?get=Hadoop:service=NodeManager,name=A::N": `{"beans":[{"name":"Hadoop:service=NodeManager,name=A","modelerType":"AType","N":3}]}`,
	} {
		w := ask(h, "GET", "/jmx"+query)
		if w.Code != 200 || w.Header().Get("Content-Type") != "application/json; charset=utf8" || w.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %d %v", query, w.Code, w.Header())
		}
		var got bytes.Buffer
		if err := json.Compact(&got, w.Body.Bytes()); err != nil {
			t.Errorf("%s: %v\n%s", query, err, w.Body)
		}
		if d := cmp.Diff(want, got.String()); d != "" {
			t.Errorf("%s: %s", query, d)
		}
	}
	if w := ask(h, "DELETE", "/jmx"); w.Code != 405 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// What pages of other programs link to, and what crawlers ask for.
func TestCommon(t *testing.T) {
	mux := &Mux{}
	Common(mux)
	for _, x := range []struct {
		path   string
		status int
		kind   string
	}{
		{"/static/yarn.css", 200, "text/css"},
		{"/static/", 403, "text/html;charset=iso-8859-1"},
		{"/static", 302, ""},
		{"/static/nosuch.js", 404, "text/plain; charset=utf-8"},
		{"/robots.txt", 200, "text/plain;charset=utf-8"},
	} {
		if w := ask(mux, "GET", x.path); w.Code != x.status || w.Header().Get("Content-Type") != x.kind {
			t.Errorf("%s: %d %v", x.path, w.Code, w.Header())
		}
	}
	if w := ask(mux, "GET", "/logs"); w.Header().Get("Location") != "http://example.com/logs/" {
		t.Errorf("%v", w.Header())
	}
}

// logs makes a folder with logs, and a secret outside of it that links lead to.
func logs(t *testing.T) string {
	t.Helper()
	base := t.TempDir()
	for path, content := range map[string]string{"logs/rm.txt": "a line", "logs/old/page.html": "<script>alert(1)</script>", "secret": "hidden", "private/keys": "hidden"} {
		path = filepath.Join(base, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"file": "../secret", "folder": base + "/private", "old/up": "../..", "inside": "rm.txt", "<b>": "rm.txt"} {
		if err := os.Symlink(to, filepath.Join(base, "logs", name)); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(base, "logs")
}

func TestLinksInTheLogFolderAreNotFollowed(t *testing.T) {
	folder := logs(t)
	for path, want := range map[string]string{
		"/logs/": "200 " + rest.HTMLType, "/logs/rm.txt": "200 " + rest.TextType, "/logs/old/": "200 " + rest.HTMLType, "/logs/old": "302 ",
		"/logs/nosuch": "404", "/logs/../secret": "404", "/logs/old/../rm.txt": "404",
		"/logs/file": "404", "/logs/folder": "404", "/logs/folder/": "404", "/logs/folder/keys": "404", "/logs/old/up/": "404", "/logs/old/up/secret": "404", "/logs/inside": "404",
	} {
		w := ask(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { ServeLogs(w, r, folder) }), "GET", path)
		if got := fmt.Sprintf("%d %s", w.Code, w.Header().Get("Content-Type")); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, not %s", path, got, want)
		}
		if body := w.Body.String(); strings.Contains(body, "hidden") || strings.Contains(body, "<b>") {
			t.Errorf("%s shows %q", path, body)
		}
	}
}

func TestPagesThatUsersWroteAreText(t *testing.T) {
	folder := logs(t)
	w := ask(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { ServeLogs(w, r, folder) }), "GET", "/logs/old/page.html")
	h := w.Header()
	if w.Code != 200 || h.Get("Content-Type") != rest.TextType || h.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(h.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("%d %v", w.Code, h)
	}
}

func TestLike(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true},
		{"*", "", true},
		{"", "a", false},
		{"a*b*c", "axbxbc", true},
		{"a*b*c", "axbxb", false},
		{"?", "a", true},
		{"?", "", false},
		{"a[b]", "ab", false},
		{"a**", "a", true},
	} {
		if got := like(c.pattern, c.s); got != c.want {
			t.Errorf("%q, %q: %v", c.pattern, c.s, got)
		}
	}
}

func TestStacks(t *testing.T) {
	w := ask(Stacks(), "GET", "/stacks")
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/plain;charset=utf-8" || !strings.Contains(w.Body.String(), "TestStacks") {
		t.Errorf("%d %v %.100s", w.Code, w.Header(), w.Body)
	}
}

func TestLogLevel(t *testing.T) {
	logger := logrus.New()
	var refuse error
	h := LogLevel(logger, func(*http.Request) error { return refuse })
	if w := ask(h, "GET", "/logLevel"); w.Code != 200 || !strings.Contains(w.Body.String(), "<title>Log Level</title>") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	w := ask(h, "GET", "/logLevel?log=<b>&level=debug")
	if logger.GetLevel() != logrus.DebugLevel || !strings.Contains(w.Body.String(), "Effective Level: <b>DEBUG</b>") || strings.Contains(w.Body.String(), "<b><b>") {
		t.Errorf("%v %s", logger.GetLevel(), w.Body)
	}
	if w := ask(h, "GET", "/logLevel?log=x&level=loud"); !strings.Contains(w.Body.String(), "Bad Level : <b>loud</b>") {
		t.Errorf("%s", w.Body)
	}
	if w := ask(h, "OPTIONS", "/logLevel?user.name=me"); w.Code != 200 || w.Header().Get("Allow") != "GET, HEAD, OPTIONS" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	refuse = errors.New("only for administrators")
	if w := ask(h, "GET", "/logLevel?log=x&level=error"); w.Code != 403 || logger.GetLevel() != logrus.DebugLevel {
		t.Errorf("%d %v", w.Code, logger.GetLevel())
	}
	if w := ask(h, "GET", "/logLevel?log=x"); w.Code != 200 {
		t.Errorf("%d", w.Code)
	}
	known := func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(auth.With(r.Context(), auth.Identity{User: "ann", Full: "ann@REALM"})))
	}
	if w := ask(http.HandlerFunc(known), "GET", "/logLevel?log=x"); w.Code != 403 {
		t.Errorf("%d", w.Code)
	}
}

func TestTraffic(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	var traffic Traffic
	s := httptest.NewServer(traffic.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/file":
			f, err := os.Open(file)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			io.Copy(w, f)
		case "/none":
			http.NotFound(w, r)
		default:
			w.Write([]byte("abc"))
		}
		http.NewResponseController(w).Flush()
	})))
	defer s.Close()
	for _, p := range []string{"/", "/file", "/none", "/none"} {
		resp, err := http.Get(s.URL + p)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	s.Close() // waits until all are counted
	b := traffic.Bean("NodeManager", "h", 8042)
	got := make(map[string]any)
	for _, a := range b.Attrs {
		got[a.Name] = a.Value
	}
	if b.Name != "Hadoop:service=NodeManager,name=HttpServer2-8042" || got["Requests"] != int64(4) || got["Responses2xx"] != int64(2) ||
		got["Responses4xx"] != int64(2) || got["ResponsesBytesTotal"].(int64) < 8 || got["RequestsActive"] != 0 {
		t.Errorf("%v", b)
	}
}

func TestProcess(t *testing.T) {
	b := Process("NodeManager", "h")
	var v any
	if err := json.Unmarshal(encode([]Bean{b}), &v); err != nil || b.Name != "Hadoop:service=NodeManager,name=JvmMetrics" || len(b.Attrs) != 22 {
		t.Errorf("%v, %v", b, err)
	}
}

func TestLayoutOfBeans(t *testing.T) {
	got := string(encode([]Bean{
		{"Hadoop:name=a", "A", []Attr{{"N", 1}, {"T", `say "{", \`}, {"L", []int{1, 2}}, {"E", []int{}}, {"M", map[string]any{}}, {"O", map[string]int{"x": 1}}}},
		{"Hadoop:name=b", "B", nil},
	}))
	want := `{
  "beans" : [ {
    "name" : "Hadoop:name=a",
    "modelerType" : "A",
    "N" : 1,
    "T" : "say \"{\", \\",
    "L" : [ 1, 2 ],
    "E" : [ ],
    "M" : { },
    "O" : {
      "x" : 1
    }
  }, {
    "name" : "Hadoop:name=b",
    "modelerType" : "B"
  } ]
}`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := string(encode(nil)); got != "{\n  \"beans\" : [ ]\n}" {
		t.Error(got)
	}
}
