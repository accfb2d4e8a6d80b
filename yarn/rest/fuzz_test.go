package rest_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"heddle/yarn/rest"
)

// FuzzRequest: whatever the path, the types and the body of a request are, it is answered without a failure of ours, and
// a body that is larger than allowed, once it is unpacked, never reaches a handler.
func FuzzRequest(f *testing.F) {
	zipped := func(b []byte) []byte {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		_, _ = w.Write(b)
		_ = w.Close()
		return out.Bytes()
	}
	for _, path := range []string{"/apps", "/apps/", "/apps/a%2Fb", "/apps;x=1/application_1_0001;y", "/apps/%zz", "//apps", "/../apps", "/apps/a/%2e%2e/state?x=%&a=1&a"} {
		f.Add("GET", path, "application/json;q=0.5, */*", "", "", "gzip", []byte(nil))
	}
	f.Add("PUT", "/apps/a", "", "application/json", "", "", []byte(`{"name":"x","list":[1,{"name":null}]}`))
	f.Add("PUT", "/apps/a", "application/xml", "application/xml; charset=utf-8", "gzip", "gzip", zipped([]byte(`<doc><name>&amp;</name></doc>`)))
	f.Add("PUT", "/apps/a", "", "application/json", "gzip", "", zipped(make([]byte, 1<<20)))
	f.Add("POST", "/apps/a", ";", "text/plain", "gzip", "", []byte("no gzip"))
	f.Add("OPTIONS", "/apps/<x>", "application/vnd.sun.wadl+xml", "x", "br", "x-gzip", []byte("x"))

	log := logrus.New()
	log.SetOutput(io.Discard)
	api := rest.NewAPI(logrus.NewEntry(log))
	api.MaxBody = 64 << 10
	failed := false
	api.Failed = func(_ *rest.Call, err error) (rest.Reply, bool) {
		failed = true
		return rest.Reply{}, false
	}
	type document struct {
		Name string   `yarn:"name"`
		List []string `yarn:"list"`
	}
	handle := func(c *rest.Call) (rest.Reply, error) {
		doc := document{Name: c.Var("app") + c.Query().Get("a")}
		if c.Method == http.MethodPut {
			if err := c.Decode(rest.Target{Root: "doc", Value: &doc}); err != nil {
				return rest.Reply{}, err
			}
		}
		return rest.OK("doc", rest.Natural, doc), nil
	}
	read := 0
	post := func(c *rest.Call) (rest.Reply, error) {
		b, err := c.Body()
		read = len(b)
		return rest.Say(http.StatusOK, "%s", b), err
	}
	api.Handle("/apps", rest.Methods{"GET": {Handle: handle}})
	api.Handle("/apps/{app}", rest.Methods{"GET": {Handle: handle}, "PUT": {Handle: handle}, "POST": {Handle: post}})
	f.Fuzz(func(t *testing.T, method, path, accept, kind, encoding, takes string, body []byte) {
		target, err := url.ParseRequestURI(path)
		if err != nil || method == "" || strings.ContainsAny(method, " \r\n") {
			return
		}
		r := &http.Request{
			Method: method, URL: target, Host: "rm", Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
			Header: http.Header{"Accept": {accept}, "Content-Type": {kind}, "Content-Encoding": {encoding}, "Accept-Encoding": {takes}},
		}
		failed, read = false, 0
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		if failed || w.Code >= 500 {
			t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
		if int64(read) > api.MaxBody {
			t.Errorf("a body of %d bytes was read", read)
		}
	})
}
