package rest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	"pgregory.net/rapid"
)

type part struct {
	N int64 `yarn:"n"`
}

type entry struct {
	Key   string `yarn:"key"`
	Value string `yarn:"value"`
}

type entries struct {
	Entry []entry `yarn:"entry,repeat"`
}

type base struct {
	Type string `yarn:"type,xsi"`
	Name string `yarn:"name"`
}

type sample struct {
	base
	Hidden string
	Count  int32    `yarn:"count"`
	Share  float32  `yarn:"share"`
	On     bool     `yarn:"on"`
	Note   string   `yarn:"note,omitempty"`
	Tags   []string `yarn:"tag"`
	Parts  []part   `yarn:"part"`
	None   *part    `yarn:"none"`
	Some   *part    `yarn:"some"`
	Empty  struct{} `yarn:"empty"`
	Usage  entries  `yarn:"usage"`
	Any    any      `yarn:"any"`
}

func TestStyles(t *testing.T) {
	one := sample{
		base: base{"leaf", `a"b`}, Hidden: "x", Count: -3, Share: 60.000004, On: true, Tags: []string{"t"},
		Parts: []part{{1}}, Some: &part{2}, Usage: entries{[]entry{{"memory-mb", "1"}, {"vcores", "2"}}}, Any: part{7},
	}
	for _, c := range []struct {
		name  string
		style Style
		value any
		want  string
	}{
		{"natural", Natural, one, `{"it":{"type":"leaf","name":"a\"b","count":-3,"share":60.000004,"on":true,"tag":["t"],` +
			`"part":[{"n":1}],"some":{"n":2},"empty":{},` +
			`"usage":{"entry":{"key":"memory-mb","value":"1"},"entry":{"key":"vcores","value":"2"}},"any":{"n":7}}}`},
		{"unwrapped", Unwrapped, part{5}, `{"n":5}`},
		{"mapped", Mapped, one, `{"type":"leaf","name":"a\"b","count":"-3","share":"60.000004","on":"true","tag":"t",` +
			`"part":{"n":"1"},"some":{"n":"2"},"empty":null,` +
			`"usage":{"entry":[{"key":"memory-mb","value":"1"},{"key":"vcores","value":"2"}]},"any":{"n":"7"}}`},
		{"mapped list", Mapped, struct {
			P []part `yarn:"p"`
		}{[]part{{1}, {2}}}, `{"p":[{"n":"1"},{"n":"2"}]}`},
		{"natural without anything", Natural, entries{}, `{"it":{}}`},
		{"mapped without anything", Mapped, entries{}, `{}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string((Document{"it", c.style, c.value}).JSON()); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	want := `<?xml version="1.0" encoding="UTF-8" standalone="yes"?><it xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="leaf">` +
		`<name>a&#34;b</name><count>-3</count><share>60.000004</share><on>true</on><tag>t</tag><part><n>1</n></part>` +
		`<some><n>2</n></some><empty></empty><usage><entry><key>memory-mb</key><value>1</value></entry>` +
		`<entry><key>vcores</key><value>2</value></entry></usage><any><n>7</n></any></it>`
	if got := string((Document{"it", Natural, one}).XML()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestFloats has the examples of Java's Float.toString and Double.toString.
func TestFloats(t *testing.T) {
	for _, c := range []struct {
		f    float64
		bits int
		want string
	}{
		{0, 32, "0.0"},
		{100, 32, "100.0"},
		{float64(float32(0.1)), 32, "0.1"},
		{0.001, 64, "0.001"},
		{0.00025, 64, "2.5E-4"},
		{9999999, 64, "9999999.0"},
		{1e7, 64, "1.0E7"},
		{-1.5, 64, "-1.5"},
		{123456789, 64, "1.23456789E8"},
		{float64(float32(1) / 3 * 100), 32, "33.333336"},
		{math.NaN(), 64, "0.0"},
		{math.Inf(1), 64, "0.0"},
	} {
		if got := string(appendFloat(nil, c.f, c.bits)); got != c.want {
			t.Errorf("%v: got %s, want %s", c.f, got, c.want)
		}
	}
}

func TestStringsSurvive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		var got string
		if err := json.Unmarshal(appendString(nil, s), &got); err != nil {
			t.Fatal(err)
		}
		if want := strings.ToValidUTF8(s, "\ufffd"); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

// Hadoop writes characters that XML can't have: then no parser reads anything of the answer.
func TestXMLIsWellFormedWithAnyString(t *testing.T) {
	v := struct {
		Name string `yarn:"name"`
	}{"a\x00\x01\x1b[2J\ufffe\uffff\xff\xed\xa0\x80😀\r\n\t\x7f\u0085<&>]]>"}
	var got struct {
		Name string `xml:"name"`
	}
	if err := xml.Unmarshal((Document{"it", Natural, &v}).XML(), &got); err != nil {
		t.Fatal(err)
	}
	if want := "a\ufffd\ufffd\ufffd[2J\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd😀\r\n\t\x7f\u0085<&>]]>"; got.Name != want {
		t.Errorf("%q instead of %q", got.Name, want)
	}
}

func TestNegotiate(t *testing.T) {
	for _, c := range []struct {
		accept []string
		want   Format
		ok     bool
	}{
		{nil, JSON, true},
		{[]string{"*/*"}, JSON, true},
		{[]string{"application/*"}, JSON, true},
		{[]string{"application/xml"}, XML, true},
		{[]string{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}, XML, true},
		{[]string{"application/xml;q=0.5,application/json;q=0.9"}, JSON, true},
		{[]string{"*/*, application/xml"}, XML, true},
		{[]string{"application/xml, application/json"}, XML, true},
		{[]string{"text/html", "application/xml;q=0.1"}, XML, true},
		{[]string{"text/html"}, JSON, false},
		{[]string{"application/json;q=0"}, JSON, false},
		{[]string{";;;"}, JSON, false},
		{[]string{"application/json;q=high"}, JSON, false},
		{[]string{"application/json;q=NaN, application/xml;q=0.1"}, XML, true},
	} {
		got, ok := Negotiate(c.accept, JSON, XML)
		if got != c.want || ok != c.ok {
			t.Errorf("%q: got %v %v, want %v %v", c.accept, got, ok, c.want, c.ok)
		}
	}
}

type submission struct {
	ID       string   `yarn:"application-id"`
	Memory   int64    `yarn:"memory"`
	Managed  bool     `yarn:"managed"`
	Priority *int32   `yarn:"priority"`
	Tags     []string `yarn:"tag"`
	Env      entries  `yarn:"environment"`
}

func TestDecode(t *testing.T) {
	three := int32(3)
	for _, c := range []struct {
		name, kind, body string
		wrapped          bool
		want             submission
		status           int
	}{
		{
			name: "json", kind: "application/json; charset=UTF-8", body: `{"application-id":"a","memory":512,"managed":true,"priority":"3",
			"tag":["x","y"],"environment":{"entry":[{"key":"K","value":"V"}]},"unknown":{"deep":[1,[2]]}}`,
			want: submission{ID: "a", Memory: 512, Managed: true, Priority: &three, Tags: []string{"x", "y"}, Env: entries{[]entry{{"K", "V"}}}},
		},
		{
			name: "xml", kind: "application/xml", body: `<?xml version="1.0"?><s><application-id>a</application-id><memory> 512 </memory>
			<tag>x</tag><tag>y</tag><environment><entry><key>K</key><value>V</value></entry></environment></s>`,
			want: submission{ID: "a", Memory: 512, Tags: []string{"x", "y"}, Env: entries{[]entry{{"K", "V"}}}},
		},
		{
			name: "one element is a list", kind: "application/json", body: `{"tag":"x","environment":{"entry":{"key":"K","value":1}}}`,
			want: submission{Tags: []string{"x"}, Env: entries{[]entry{{"K", "1"}}}},
		},
		{
			name: "numbers that are none count as 0", kind: "application/json", body: `{"memory":"plenty","priority":99999999999}`,
			want: submission{Priority: new(int32)},
		},
		{name: "latin 1", kind: "application/json; charset=ISO-8859-1", body: "{\"application-id\":\"gr\xf6\xdfe\"}", want: submission{ID: "größe"}},
		{name: "not latin 1", kind: "application/json; charset=iso-8859-1", body: `{"application-id":"größe"}`, want: submission{ID: "grÃ¶Ã\u009fe"}},
		{name: "ascii", kind: "application/json; charset=us-ascii", body: `{"application-id":"größe"}`, want: submission{ID: "gr����e"}},
		{name: "quoted", kind: `application/json; charset="utf-8"`, body: `{"application-id":"größe"}`, want: submission{ID: "größe"}},
		{name: "utf-16", kind: "application/json; charset=UTF-16", body: "\xff\xfe{\x00\"\x00t\x00a\x00g\x00\"\x00:\x00\"\x00=\xd8\x00\xde\"\x00}\x00", want: submission{Tags: []string{"😀"}}},
		{name: "utf-16be", kind: "application/json; charset=UTF-16BE", body: "\x00{\x00\"\x00t\x00a\x00g\x00\"\x00:\x00\"\x00\xf6\x00\"\x00}", want: submission{Tags: []string{"ö"}}},
		{name: "half of utf-16", kind: "application/json; charset=UTF-16LE", body: "{\x00}\x00}", status: 400},
		{name: "unknown charset", kind: "application/json; charset=nonsense", body: `{}`, status: 415},
		{name: "unknown charset of xml", kind: "application/xml; charset=nonsense", body: `<s/>`, status: 415},
		{name: "xml says which", kind: "application/xml; charset=ISO-8859-1", body: "<?xml version='1.0' encoding='UTF-8'?><s><tag>ö</tag></s>", want: submission{Tags: []string{"ö"}}},
		{name: "xml of latin 1", kind: "application/xml", body: "<?xml version='1.0' encoding='ISO-8859-1'?><s><tag>\xf6</tag></s>", want: submission{Tags: []string{"ö"}}},
		{name: "xml of an unknown charset", kind: "application/xml", body: "<?xml version='1.0' encoding='nonsense'?><s/>", status: 400},
		{name: "xml of utf-16", kind: "application/xml", body: "\xfe\xff\x00<\x00s\x00>\x00<\x00t\x00a\x00g\x00>\x00\xf6\x00<\x00/\x00t\x00a\x00g\x00>\x00<\x00/\x00s\x00>", want: submission{Tags: []string{"ö"}}},
		{name: "null is nothing", kind: "application/json", body: `{"application-id":null,"priority":null}`},
		{name: "a bare text has no members", kind: "application/json", body: `"hello"`},
		{name: "wrapped", kind: "application/json", body: `{"s":{"application-id":"a"}}`, wrapped: true, want: submission{ID: "a"}},
		{name: "wrapper missing", kind: "application/json", body: `{"application-id":"a"}`, wrapped: true, status: 400},
		{name: "wrapper of nothing", kind: "application/json", body: `{}`, wrapped: true, status: 400},
		{name: "empty", kind: "application/json", body: " ", status: 400},
		{name: "list", kind: "application/json", body: `[]`, status: 400},
		{name: "broken", kind: "application/json", body: `{not json`, status: 400},
		{name: "open", kind: "application/json", body: `{`, status: 400},
		{name: "two values", kind: "application/json", body: `{} {}`, status: 400},
		{name: "too deep", kind: "application/json", body: strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000), status: 400},
		{name: "lists too deep", kind: "application/json", body: `{"a":` + strings.Repeat(`[`, 100000), status: 400},
		{name: "xml too deep", kind: "application/xml", body: strings.Repeat(`<s>`, 100000), status: 400},
		{name: "too many elements", kind: "application/json", body: `{"a":[` + strings.Repeat(`1,`, maxElements) + `1]}`, status: 400},
		{name: "xml of too many elements", kind: "application/xml", body: `<s>` + strings.Repeat(`<a/>`, maxElements+1) + `</s>`, status: 400},
		{name: "xml of another root", kind: "application/xml", body: `<other/>`, status: 400},
		{name: "xml open", kind: "application/xml", body: `<s>`, status: 400},
		{name: "xml empty", kind: "application/xml", body: ``, status: 400},
		{name: "xml entity", kind: "application/xml", body: `<!DOCTYPE s [<!ENTITY x SYSTEM "file:///etc/passwd">]><s><application-id>&x;</application-id></s>`, status: 400},
		{name: "other type", kind: "text/plain", body: "x", status: 415},
		{name: "no type", body: "{}", status: 415},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got submission
			err := Decode(c.kind, []byte(c.body), Target{"s", c.wrapped, &got})
			if c.status != 0 {
				var e *Error
				if !asError(err, &e) || e.Status != c.status {
					t.Fatalf("got %v, want status %d", err, c.status)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func asError(err error, to **Error) bool {
	e, ok := err.(*Error)
	*to = e
	return ok
}

func testAPI() *API {
	log := logrus.New()
	log.SetOutput(io.Discard)
	a := NewAPI(logrus.NewEntry(log))
	a.MaxBody = 100
	a.Handle("/v1/things/{id}", Methods{
		"GET": {Handle: func(c *Call) (Reply, error) {
			switch c.Var("id") {
			case "missing":
				return Reply{}, NotFound("thing with id: %s not found", c.Var("id"))
			case "panic":
				panic("oh")
			}
			return OK("thing", Natural, part{int64(len(c.Var("id")))}), nil
		}},
		"PUT": {Takes: TakesDocument, Handle: func(c *Call) (Reply, error) {
			var p part
			if err := c.Decode(Target{"thing", false, &p}); err != nil {
				return Reply{}, err
			}
			return Reply{Status: 202, Location: c.Self() + c.URL.Path}, nil
		}},
	})
	return a
}

func TestAPI(t *testing.T) {
	const jsonBody = "application/json"
	for _, c := range []struct {
		name, method, path, accept, kind, body string
		status                                 int
		contentType, want, header, value       string
	}{
		{name: "get", method: "GET", path: "/v1/things/abc", status: 200, contentType: JSONType, want: `{"thing":{"n":3}}`},
		{name: "slash at the end", method: "GET", path: "/v1/things/abc/", status: 200, contentType: JSONType, want: `{"thing":{"n":3}}`},
		{name: "escaped slash", method: "GET", path: "/v1/things/a%2Fc", status: 200, contentType: JSONType, want: `{"thing":{"n":3}}`},
		{
			name: "xml", method: "GET", path: "/v1/things/abc", accept: "application/xml", status: 200, contentType: XMLType,
			want: `<?xml version="1.0" encoding="UTF-8" standalone="yes"?><thing><n>3</n></thing>`,
		},
		{name: "head", method: "HEAD", path: "/v1/things/abc", status: 200, contentType: JSONType, want: `{"thing":{"n":3}}`},
		{
			name: "options as Java asks", method: "OPTIONS", path: "/v1/things/abc", accept: "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2",
			status: 200, contentType: WADLType, header: "Allow", value: "GET,HEAD,OPTIONS,PUT",
		},
		{name: "options", method: "OPTIONS", path: "/v1/things/abc", accept: "application/json", status: 204, contentType: TextType, header: "Allow", value: "GET,HEAD,OPTIONS,PUT"},
		{name: "wrong method", method: "DELETE", path: "/v1/things/abc", status: 405, contentType: JSONType, header: "Allow", value: "GET,HEAD,OPTIONS,PUT"},
		{name: "not acceptable", method: "GET", path: "/v1/things/abc", accept: "image/png", status: 406},
		{name: "not acceptable as page", method: "GET", path: "/v1/things/abc", accept: "text/html", status: 406, contentType: errorType},
		{name: "no such path", method: "GET", path: "/v1/other", status: 404, contentType: HTMLType},
		{name: "no such path below", method: "GET", path: "/v1/things/a/b", status: 404, contentType: HTMLType},
		{
			name: "missing", method: "GET", path: "/v1/things/missing", status: 404, contentType: JSONType,
			want: `{"RemoteException":{"exception":"NotFoundException","message":"java.lang.Exception: thing with id: missing not found",` +
				`"javaClassName":"org.apache.hadoop.yarn.webapp.NotFoundException"}}`,
		},
		{name: "panic", method: "GET", path: "/v1/things/panic", status: 500, contentType: JSONType},
		{
			name: "put", method: "PUT", path: "/v1/things/abc", kind: jsonBody, body: `{"n":1}`, status: 202, contentType: JSONType,
			header: "Location", value: "http://example.com/v1/things/abc",
		},
		{name: "put of another type", method: "PUT", path: "/v1/things/abc", kind: "text/plain", body: `x`, status: 415, contentType: JSONType},
		{name: "put without type", method: "PUT", path: "/v1/things/abc", body: `{}`, status: 415, contentType: JSONType},
		{name: "put too large", method: "PUT", path: "/v1/things/abc", kind: jsonBody, body: `{"n":"` + strings.Repeat("1", 200) + `"}`, status: 413, contentType: JSONType},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
			if c.accept != "" {
				r.Header.Set("Accept", c.accept)
			}
			if c.kind != "" {
				r.Header.Set("Content-Type", c.kind)
			}
			w := httptest.NewRecorder()
			Headers(testAPI()).ServeHTTP(w, r)
			got := w.Result()
			if got.StatusCode != c.status || got.Header.Get("Content-Type") != c.contentType {
				t.Errorf("got %d %q, want %d %q: %s", got.StatusCode, got.Header.Get("Content-Type"), c.status, c.contentType, w.Body)
			}
			if c.want != "" && w.Body.String() != c.want {
				t.Errorf("got  %s\nwant %s", w.Body, c.want)
			}
			if c.header != "" && got.Header.Get(c.header) != c.value {
				t.Errorf("%s: got %q, want %q", c.header, got.Header.Get(c.header), c.value)
			}
		})
	}
}

// A body is compressed once, by gzip; no other compression is mistaken for a document. What is none counts as no encoding.
func TestCompressedBodies(t *testing.T) {
	zip := func(s string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, err := w.Write([]byte(s))
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const document = `{"n":1}`
	for _, c := range []struct {
		encoding, body string
		status         int
		says           string
	}{
		{"gzip", zip(document), 202, ""},
		{"GZIP", zip(document), 202, ""},
		{"x-gzip", zip(document), 202, ""},
		{"identity", document, 202, ""},
		{"utf-8", document, 202, ""},
		{"gzip", document, 400, "Content-Encoding"},
		{"gzip", zip(document)[:20], 400, "can't be read"},
		{"gzip", zip(strings.Repeat(" ", 101)), 413, "larger than 100 bytes"},
		{"gzip, gzip", zip(zip(document)), 415, "gzip, gzip"},
		{"br", document, 415, "br"},
		{"Deflate", document, 415, "compressed once by gzip"},
	} {
		r := httptest.NewRequest("PUT", "/v1/things/abc", strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Content-Encoding", c.encoding)
		w := httptest.NewRecorder()
		Headers(testAPI()).ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s: %d %s", c.encoding, w.Code, w.Body)
		}
	}
}

func TestErrorPage(t *testing.T) {
	for _, c := range []struct{ method, accept, kind, contains string }{
		{"GET", "", errorType, "<title>Error 401 &lt;who?&gt; &#252;</title>"},
		{"GET", "*/*", errorType, "<title>Error 401"},
		{"POST", "application/json", "application/json", `{"servlet":"heddle","message":"&lt;who?&gt; &#252;","url":"/a","status":"401"}`},
		{"GET", "text/plain", "text/plain;charset=iso-8859-1", "STATUS: 401"},
		{"PUT", "application/json", "", ""},
	} {
		r := httptest.NewRequest(c.method, "/a?b=c", nil)
		if c.accept != "" {
			r.Header.Set("Accept", c.accept)
		}
		w := httptest.NewRecorder()
		ErrorPage(w, r, http.StatusUnauthorized, "<who?> ü")
		if got := w.Result().Header.Get("Content-Type"); w.Code != 401 || got != c.kind || !strings.Contains(w.Body.String(), c.contains) ||
			c.contains == "" && w.Body.Len() > 0 {
			t.Errorf("%s %q: got %d %q %s", c.method, c.accept, w.Code, got, w.Body)
		}
	}
}

// FuzzDecode reads arbitrary bodies: they must be refused with a 4xx or taken, and what was taken must come out again as
// well-formed JSON and XML.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"application-id":"a","memory":512,"tag":["x"],"environment":{"entry":[{"key":"K","value":"V"}]}}`,
		`{"s":{"tag":[[["x"]]]}}`, `<s><tag>x</tag></s>`, `"x"`, `[[[`, `{"a":`, `<s`, "\x00", `{"tag":"\ud800"}`,
	} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, body string, wrapped bool) {
		for _, kind := range []string{"application/json", "application/xml", "application/json; charset=utf-16"} {
			var v submission
			err := Decode(kind, []byte(body), Target{"s", wrapped, &v})
			if err != nil {
				if e, ok := err.(*Error); !ok || e.Status != 400 {
					t.Fatalf("%v", err)
				}
				continue
			}
			for _, style := range []Style{Natural, Unwrapped, Mapped} {
				if out := (Document{"s", style, &v}).JSON(); !json.Valid(out) {
					t.Fatalf("%s", out)
				}
			}
			if err := xml.Unmarshal((Document{"s", Natural, &v}).XML(), new(struct{})); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func BenchmarkNatural(b *testing.B) {
	v := sample{base: base{"leaf", "name"}, Tags: []string{"a", "b"}, Parts: make([]part, 100)}
	b.ReportAllocs()
	for b.Loop() {
		_ = Document{"it", Natural, &v}.JSON()
	}
}
