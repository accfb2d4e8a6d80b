package webui

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func serve(method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	Handler("http").ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

func TestPathsOfYARN(t *testing.T) {
	for _, path := range []string{
		"/cluster", "/cluster/", "/cluster/apps", "/cluster/apps/RUNNING", "/cluster/app/application_1_0001",
		"/cluster/appattempt/appattempt_1_0001_000001", "/cluster/container/container_1_0001_01_000001", "/cluster/nodes", "/cluster/scheduler", "/cluster/cluster", "/cluster/users", "/cluster/waiting", "/cluster/overview", "/cluster/preemptions", "/cluster/configuration", "/cluster/node/n1:45454", "/cluster/logs/container_1_0001_01_000001/stderr",
	} {
		w := serve(http.MethodGet, path)
		if w.Code != http.StatusOK || !strings.Contains(w.Header().Get("Content-Type"), "text/html") || !strings.Contains(w.Body.String(), "<main") {
			t.Errorf("%s: %d %s", path, w.Code, w.Header())
		}
		if w.Header().Get("Content-Security-Policy") == "" {
			t.Errorf("%s: no policy", path)
		}
	}
}

func TestOddRequests(t *testing.T) {
	for _, c := range []struct {
		method, path string
		code         int
	}{
		{http.MethodPost, "/cluster", http.StatusMethodNotAllowed},
		{http.MethodGet, "/clusters", http.StatusNotFound},
		{http.MethodGet, "/cluster/absent", http.StatusNotFound},
		{http.MethodGet, "/cluster/static/", http.StatusNotFound},
		{http.MethodGet, "/cluster/static/pages/", http.StatusNotFound},
		{http.MethodGet, "/cluster/static/absent.js", http.StatusNotFound},
		{http.MethodGet, "/cluster/static/../../webui.go", http.StatusNotFound},
		{http.MethodHead, "/cluster/static/main.js", http.StatusOK},
	} {
		if w := serve(c.method, c.path); w.Code != c.code {
			t.Errorf("%s %s: %d, not %d", c.method, c.path, w.Code, c.code)
		}
	}
}

// Whatever the pages load must be served, from here: a cluster often has no way out.
func TestEverythingLoadedIsServed(t *testing.T) {
	reference := regexp.MustCompile(`(?:from|href=|src=) ?['"](\.{1,2}/[^'"]+|/cluster/static/[^'"]+|https?://[^'"]+)['"]`)
	found := 0
	err := fs.WalkDir(files, "static", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		raw, err := files.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range reference.FindAllStringSubmatch(string(raw), -1) {
			found++
			ref, folder := m[1], path[:strings.LastIndexByte(path, '/')]
			for strings.HasPrefix(ref, "../") {
				ref, folder = ref[3:], folder[:strings.LastIndexByte(folder, '/')]
			}
			if !strings.HasPrefix(ref, "/") {
				ref = "/cluster/" + folder + "/" + strings.TrimPrefix(ref, "./")
			}
			if w := serve(http.MethodGet, ref); w.Code != http.StatusOK {
				t.Errorf("%s loads %s: %d", path, m[1], w.Code)
			} else if ct := w.Header().Get("Content-Type"); strings.HasSuffix(ref, ".js") && !strings.Contains(ct, "javascript") {
				t.Errorf("%s is served as %s, which browsers refuse to run", ref, ct)
			}
		}
		return nil
	})
	if err != nil || found < 15 {
		t.Fatal(found, err)
	}
}
