package rest

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
)

// reading are the patterns outside of the API that change nothing.
var reading = []string{
	"/node/", "/node", "/jmx", "/conf", "/stacks", "/robots.txt", "/static", "/logs", "/static/{$}", "/static/yarn.css", "/logs/", "/metrics", "/",
	"GET /node/static/look.css", "GET /node", "GET /node/{$}", "GET /node/node", "GET /node/allApplications", "GET /node/allContainers", "GET /node/application/{app}", "GET /node/container/{container}",
	"GET /node/containerlogs/{container}/{user}", "GET /node/containerlogs/{container}/{user}/{file}",
}

// A picture in a foreign page silenced a node's log. No GET of the node's API changes anything; a new path must be put on a list.
func TestNoGETOfAForeignPageChangesANode(t *testing.T) {
	s := server(t, false)
	for _, path := range s.api.Paths() {
		if e, ok := s.api.Methods(path)[http.MethodGet]; ok && e.Changes {
			t.Errorf("%s changes something", path)
		}
	}
	for _, pattern := range append(s.mux.Patterns(), s.node.Patterns()...) {
		if pattern != "/logLevel" && !slices.Contains(reading, pattern) {
			t.Errorf("%s must be listed: does it change anything?", pattern)
		}
	}
	ask := func(agent string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "/logLevel?log=nm&level=error", nil)
		r.Header.Set("User-Agent", agent)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	if w := ask("Mozilla/5.0"); w.Code != http.StatusForbidden || s.Log.Logger.GetLevel() != logrus.InfoLevel || !strings.Contains(w.Body.String(), "X-Requested-By") {
		t.Errorf("%d %s; the level is %v", w.Code, w.Body, s.Log.Logger.GetLevel())
	}
	if w := ask("curl/8.5.0"); w.Code != http.StatusOK || s.Log.Logger.GetLevel() != logrus.ErrorLevel {
		t.Errorf("curl: %d %s", w.Code, w.Body)
	}
}
