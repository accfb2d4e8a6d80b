package daemon

import (
	_ "embed"
	"io/fs"
	"net/http"
	"strings"

	"heddle/yarn/rest"
)

// style is what pages made for Hadoop's style sheet get: the web pages have one of their own.
//
//go:embed yarn.css
var style []byte

// ServeLogs serves a daemon's own logs, below /logs/.
func ServeLogs(w http.ResponseWriter, r *http.Request, files fs.FS) {
	name := strings.Trim(strings.TrimPrefix(r.URL.Path, "/logs"), "/")
	if name == "" {
		name = "."
	}
	if _, err := fs.Stat(files, name); err != nil {
		rest.ErrorPage(w, r, http.StatusNotFound, "Not Found")
		return
	}
	http.StripPrefix("/logs", http.FileServerFS(files)).ServeHTTP(w, r)
}

// Common adds to mux what daemons of Hadoop's have beside all else: /robots.txt, which keeps away what follows links, and /static.
// Of the files there the style sheet is served, which others' pages use; scripts and pictures are those of pages that Heddle hasn't.
func Common(mux *http.ServeMux) {
	mux.Handle("/robots.txt", Get(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, rest.TextType, []byte("User-agent: *\nDisallow: /\n"))
	}))
	mux.HandleFunc("/static", To("/static/"))
	mux.HandleFunc("/logs", To("/logs/"))
	mux.Handle("/static/{$}", Get(func(w http.ResponseWriter, r *http.Request) {
		rest.ErrorPage(w, r, http.StatusForbidden, "Forbidden")
	}))
	mux.Handle("/static/yarn.css", Get(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, "text/css", style)
	}))
}

// To redirects to a path of the same daemon.
func To(path string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", rest.Self(r)+path)
		w.WriteHeader(http.StatusFound)
	}
}
