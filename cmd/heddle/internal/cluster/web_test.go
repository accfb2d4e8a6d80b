package cluster

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestRefusal(t *testing.T) {
	for _, c := range []struct {
		body, exception, message string
		status                   int
	}{
		{
			`{"RemoteException":{"exception":"NotFoundException","message":"java.lang.Exception: app with id: a_1 not found","javaClassName":"x"}}`,
			"NotFoundException", "app with id: a_1 not found", 404,
		},
		{`{"RemoteException":{"exception":"WebApplicationException","javaClassName":"x"}}`, "WebApplicationException", "", 503},
		{"App submission via REST is disabled.", "", "App submission via REST is disabled.", 403},
		{`"java.io.IOException: org.example.Deep: why"`, "", "why", 400},
		{"<html><body>404</body></html>", "", "", 404},
		{"", "", "", 500},
		{"http://a.b: no", "", "http://a.b: no", 400},
	} {
		u := &url.URL{Scheme: "http", Host: "rm:8088", Path: "/ws", RawQuery: "user.name=secret"}
		err := refusal("GET", u, &http.Response{StatusCode: c.status, Body: io.NopCloser(strings.NewReader(c.body))})
		var e *RESTError
		if !errors.As(err, &e) {
			t.Fatalf("%s: %v", c.body, err)
		}
		if e.Exception != c.exception || e.Message != c.message || !IsStatus(err, c.status) {
			t.Errorf("%s: got %+v", c.body, e)
		}
		if text := err.Error(); strings.Contains(text, "secret") || !strings.Contains(text, "GET http://rm:8088/ws") {
			t.Errorf("%s: %s", c.body, text)
		}
		if IsUnknownPath(err) != (c.status == 404 && c.exception == "") {
			t.Errorf("%s: taken for an unknown path: %v", c.body, IsUnknownPath(err))
		}
	}
}

// Whatever a server says, there is an error that names the request.
func FuzzRefusal(f *testing.F) {
	f.Add(404, `{"RemoteException":{"exception":"E","message":"a.b.C: d.E: f"}}`)
	f.Add(500, "java.lang.X: ")
	f.Add(400, `"`)
	f.Add(503, "<html>")
	f.Fuzz(func(t *testing.T, status int, body string) {
		u := &url.URL{Scheme: "http", Host: "rm:8088", Path: "/ws"}
		err := refusal("PUT", u, &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body))})
		if !IsStatus(err, status) || !strings.Contains(err.Error(), "PUT http://rm:8088/ws") {
			t.Fatalf("%d %q: %v", status, body, err)
		}
	})
}
