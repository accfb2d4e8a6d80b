package rest

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// FuzzRouting: whatever method, path, query and headers a request has, a ResourceManager that leads answers it without a failure of its
// own, and with a document of the kind that it says.
func FuzzRouting(f *testing.F) {
	c := start(f, 1)
	h, err := Of(c.rms[c.leader()], Mounts{})
	if err != nil {
		f.Fatal(err)
	}
	answer := func(r *http.Request) *httptest.ResponseRecorder {
		r.Host = "localhost"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	var made struct {
		ID string `json:"application-id"`
	}
	w := answer(httptest.NewRequest("POST", "/ws/v1/cluster/apps/new-application?user.name=alice", nil))
	if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil {
		f.Fatalf("%v: %s", err, w.Body)
	}
	submit := httptest.NewRequest("POST", "/ws/v1/cluster/apps?user.name=alice", strings.NewReader(
		`{"application-id":"`+made.ID+`","application-name":"fuzzed","unmanaged-AM":true,"am-container-spec":{},"resource":{"memory":1,"vCores":1}}`))
	submit.Header.Set("Content-Type", "application/json")
	if w := answer(submit); w.Code != http.StatusAccepted {
		f.Fatalf("%d: %s", w.Code, w.Body)
	}
	app := "/ws/v1/cluster/apps/" + made.ID
	attempt := strings.Replace(made.ID, "application", "appattempt", 1) + "_000001"
	for _, path := range []string{
		"/", "/cluster", "/cluster/apps/RUNNING", "/conf", "/jmx", "/stacks", "/logLevel", "/metrics", "/isActive", "/logs/", "/ws/v1/nothing",
		"/ws/v1/cluster", "/ws/v1/cluster/info", "/ws/v1/cluster/metrics", "/ws/v1/cluster/scheduler", "/ws/v1/cluster/nodes",
		"/ws/v1/cluster/nodes/h:1", "/ws/v1/cluster/apps", "/ws/v1/cluster/appstatistics", "/ws/v1/cluster/scheduler-conf",
		"/ws/v1/cluster/get-node-labels", "/ws/v1/cluster/scheduler/activities", "/ws/v1/cluster/apps/new-application",
		app, app + "/state", app + "/queue", app + "/priority", app + "/timeouts", app + "/timeouts/LIFETIME", app + "/appattempts",
		app + "/appattempts/" + attempt + "/containers", "/ws/v1/cluster/delegation-token", "/ws/v1/cluster/reservation/list",
		"/ws/v1/cluster/queues/root.default/access", "/ws/v1/heddle/members", "/proxy/" + made.ID + "/", "//x/../%2e%2e/%zz", "/ws/v1/cluster/apps/a%2Fb;c=d",
	} {
		f.Add("GET", path, "", "application/json", "", "", "", "")
	}
	f.Add("PUT", app+"/state", "user.name=alice", "application/xml", "application/json", "Origin", "http://x", `{"state":"KILLED"}`)
	f.Add("GET", "/ws/v1/cluster/apps", "states=RUNNING,x&limit=-1&startedTimeBegin=z&applicationTags=%ff", "*/*", "", "Cookie", "hadoop.auth=x", "")
	f.Add("OPTIONS", "/ws/v1/cluster/nodes", "user.name=%00", "application/vnd.sun.wadl+xml", "", "X-Forwarded-For", "x", "")
	f.Add("HEAD", "/jmx", "qry=*:*&get=a::b&callback=x", "", "", "Accept-Encoding", "gzip;q=0", "")
	f.Add("DELETE", "/ws/v1/cluster/delegation-token", "doas=bob", "", "", "Hadoop-YARN-RM-Delegation-Token", "x", "x")
	f.Fuzz(func(t *testing.T, method, path, query, accept, kind, name, value, body string) {
		target, err := url.ParseRequestURI(path)
		if err != nil || target.Host != "" || method == "" || strings.ContainsAny(method, " \r\n") || len(body) > 1<<12 {
			return
		}
		target.RawQuery = query
		r := &http.Request{
			Method: method, URL: target, RequestURI: target.RequestURI(), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, RemoteAddr: "127.0.0.1:1",
			Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Header: http.Header{"Accept": {accept}, "Content-Type": {kind}},
		}
		if name != "" {
			r.Header.Set(name, value)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // a stream of events has no end
		defer cancel()
		w := answer(r.WithContext(ctx))
		if w.Code < 200 || w.Code >= 500 && w.Code != http.StatusNotImplemented {
			t.Fatalf("%s %s?%s: %d %s", method, path, query, w.Code, w.Body)
		}
		if method != http.MethodHead {
			wellFormed(t, w)
		}
	})
}

// wellFormed checks that an answer is a document of its type. As in YARN, a message may come as plain text whatever the type says.
func wellFormed(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Body.Len() == 0 || w.Header().Get("Content-Encoding") != "" {
		return
	}
	message := !strings.ContainsAny(w.Body.String()[:1], "{[<")
	kind, _, err := mime.ParseMediaType(w.Header().Get("Content-Type"))
	switch {
	case err != nil:
		t.Errorf("%d with %d bytes is of type %q: %v", w.Code, w.Body.Len(), w.Header().Get("Content-Type"), err)
	case message:
	case kind == "application/json" && !json.Valid(w.Body.Bytes()):
		t.Errorf("%d: this is no JSON: %s", w.Code, w.Body)
	case slices.Contains([]string{"application/xml", "text/xml"}, kind):
		for d := xml.NewDecoder(w.Body); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				return
			} else if err != nil {
				t.Fatalf("%d: this is no XML: %v", w.Code, err)
			}
		}
	}
}
