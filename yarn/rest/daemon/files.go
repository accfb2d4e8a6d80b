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

// ServeLogs serves a daemon's own logs below /logs/ out of a folder. It follows no links. It shows all files as text
// whatever their names: users write some of them, and those must not become pages of the daemon's origin.
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
		To(r.URL.EscapedPath()+"/")(w, r) // the list has relative links
		return
	}
	rest.Page(w, http.StatusOK, "Directory: "+r.URL.Path, LogList(entries))
}

// LogList returns a list of the entries of a log folder as HTML. It omits links, because ServeLogs doesn't follow them.
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
		fmt.Fprintf(&b, "<p><a href=\"%s\">%s</a></p>\n", html.EscapeString((&url.URL{Path: "./" + name}).EscapedPath()),
			html.EscapeString(name))
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

// Quarantine marks a response whose body users have written. A browser then neither guesses its type nor runs anything
// in it.
func Quarantine(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
}

// Common adds what all of Hadoop's daemons serve: /robots.txt, which keeps crawlers away, and /static. Of the files
// there it serves the style sheet, which others' pages use. The scripts and pictures belong to pages that Heddle lacks.
func Common(mux *Mux) {
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

// To returns a handler that redirects to a path of the same daemon.
func To(path string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", rest.Self(r)+path)
		w.WriteHeader(http.StatusFound)
	}
}
