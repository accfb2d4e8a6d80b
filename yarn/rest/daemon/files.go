package daemon

import (
	_ "embed"
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"

	"heddle/internal/userfiles"
	"heddle/yarn/rest"
)

// style is what pages made for Hadoop's style sheet get: the web pages have one of their own.
//
//go:embed yarn.css
var style []byte

// ServeLogs serves a daemon's own logs, below /logs/, out of a folder. No link in it is followed, and files are shown as text whatever
// they are called: some of them are written by users, and must not become pages of the daemon's origin.
func ServeLogs(w http.ResponseWriter, r *http.Request, folder string) {
	var elems []string
	if name := strings.Trim(strings.TrimPrefix(r.URL.Path, "/logs"), "/"); name != "" {
		elems = strings.Split(name, "/")
	}
	if len(elems) > 0 {
		if f, err := userfiles.Open(folder, userfiles.Anybody, elems...); err == nil {
			defer f.Close()
			serveText(w, r, f)
			return
		}
	}
	entries, err := userfiles.ReadDir(folder, elems...)
	if err != nil {
		rest.ErrorPage(w, r, http.StatusNotFound, "Not Found")
		return
	}
	if !strings.HasSuffix(r.URL.Path, "/") {
		To(r.URL.EscapedPath()+"/")(w, r) // links in the list are relative
		return
	}
	rest.Page(w, http.StatusOK, "Directory: "+r.URL.Path, LogList(entries))
}

// LogList is a list of the entries of a folder with logs, as HTML. Links are left out, as they aren't followed.
func LogList(entries []fs.FileInfo) string {
	var b strings.Builder
	for _, e := range entries {
		name := e.Name()
		switch {
		case e.IsDir():
			name += "/"
		case !e.Mode().IsRegular():
			continue
		}
		fmt.Fprintf(&b, "<p><a href=\"%s\">%s</a></p>\n", html.EscapeString((&url.URL{Path: "./" + name}).EscapedPath()), html.EscapeString(name))
	}
	return b.String()
}

func serveText(w http.ResponseWriter, r *http.Request, f *os.File) {
	info, err := f.Stat()
	if err != nil {
		rest.ErrorPage(w, r, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", rest.TextType)
	Quarantine(w.Header())
	http.ServeContent(w, r, "", info.ModTime(), f)
}

// Quarantine marks a response whose body users have written: a browser neither guesses its type nor runs anything in it.
func Quarantine(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
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
