// Package webui is the admin UI: static pages that read the REST APIs (/ws/v1/cluster and /ws/v1/heddle) and nothing else.
//
// Its paths are those of YARN's UI, so that the links that clients print (/cluster/app/<id>, /cluster/scheduler, …) lead
// somewhere. Every path serves the same page; the browser decides which part of it to show.
package webui

import (
	"embed"
	"io/fs"
	"net/http"
	"slices"
	"strings"
)

//go:embed static
var files embed.FS

// policy lets pages load what is served here, and nothing else.
const policy = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'"

// pages are those of YARN's, some of which Heddle's pages say of that there is nothing to see.
var pages = []string{
	"/cluster", "", "cluster", "about", "apps", "app", "appattempt", "container", "nodes", "nodelabels", "scheduler", "errors-and-warnings",
}

// Handler serves the pages below /cluster, and what they are made of below /cluster/static/.
func Handler() http.Handler {
	static, err := fs.Sub(files, "static")
	if err != nil {
		panic(err) // the folder is part of the binary
	}
	assets := http.StripPrefix("/cluster/static/", http.FileServerFS(static))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if name, ok := strings.CutPrefix(r.URL.Path, "/cluster/static/"); ok {
			if name == "" || strings.HasSuffix(name, "/") {
				http.NotFound(w, r)
				return
			}
			// The binary may be another after a restart, and its files are small.
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
		w.Header().Set("Content-Type", "text/html;charset=utf-8") // to the letter as YARN's
		if name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/cluster/"), "/"); !slices.Contains(pages, name) {
			w.WriteHeader(http.StatusNotFound) // the page says that there is none
		}
		http.ServeFileFS(w, r, static, "page.html")
	})
}
