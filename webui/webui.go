// Package webui is the admin UI: static pages that read the REST APIs (/ws/v1/cluster and /ws/v1/heddle) and nothing else.
//
// Its paths are those of YARN's UI, so that the links that clients print (/cluster/app/<id>, /cluster/scheduler, …) lead
// somewhere. Every path serves the same page; the browser decides which part of it to show.
package webui

import (
	"bytes"
	"embed"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"heddle/yarn/rest"
)

//go:embed static
var files embed.FS

// policy allows pages to load what this server serves, and nothing else.
const policy = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'"

// pages are YARN's paths and ours. On some of YARN's Heddle's page says that it has nothing to show.
var pages = []string{
	"/cluster", "", "cluster", "about", "apps", "app", "appattempt", "container", "nodes", "nodelabels", "scheduler", "errors-and-warnings", "users", "waiting", "overview", "node", "preemptions", "logs", "queue", "user", "configuration",
}

// Handler serves the pages below /cluster, and their scripts and styles below /cluster/static/. scheme is that of the daemons' web ports, to which
// pages link; the page itself may come through another proxy.
func Handler(scheme string) http.Handler {
	static, err := fs.Sub(files, "static")
	if err != nil {
		panic(err) // the folder is part of the binary
	}
	page, err := fs.ReadFile(static, "page.html")
	if err != nil {
		panic(err)
	}
	page = bytes.Replace(page, []byte(`name="scheme" content="http"`), []byte(`name="scheme" content="`+scheme+`"`), 1)
	assets := http.StripPrefix("/cluster/static/", http.FileServerFS(static))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Content-Security-Policy", policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if name, ok := strings.CutPrefix(r.URL.Path, "/cluster/static/"); ok {
			if name == "" || strings.HasSuffix(name, "/") {
				http.NotFound(w, r)
				return
			}
			// A restart may change the binary, and its files are small.
			w.Header().Set("Cache-Control", "no-cache")
			assets.ServeHTTP(w, r)
			return
		}
		if r.URL.Path != "/cluster" && !strings.HasPrefix(r.URL.Path, "/cluster/") {
			http.NotFound(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("Content-Type", "text/html;charset=utf-8") // exactly as in YARN
		if name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/cluster/"), "/"); !slices.Contains(pages, name) {
			w.WriteHeader(http.StatusNotFound) // the page says that it doesn't exist
		}
		_, _ = w.Write(relative(page, r.URL))
	})
}

// relative makes a page's own addresses, which begin with /, relative to the page's address. They then hold behind a proxy that puts a prefix
// before all paths, as well.
func relative(page []byte, at *url.URL) []byte {
	return bytes.ReplaceAll(page, []byte(`="/`), []byte(`="`+rest.Up(at)))
}
