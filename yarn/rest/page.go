package rest

import (
	"bytes"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// errorType is the content type of Jetty's error pages.
const errorType = "text/html;charset=iso-8859-1"

// NoSuchPage answers as YARN's web applications do when there is nothing at a path.
func NoSuchPage(w http.ResponseWriter, _ *http.Request) {
	Page(w, http.StatusNotFound, "Sorry, got error 404", "<p>Please consult the documentation for the pages and paths that there are.</p>")
}

// Page writes a small page. body is HTML.
func Page(w http.ResponseWriter, status int, title, body string) {
	w.Header().Set("Content-Type", HTMLType)
	w.WriteHeader(status)
	title = html.EscapeString(title)
	_, _ = fmt.Fprintf(w, "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>%s</title></head>\n<body><h1>%[1]s</h1>\n%s\n</body></html>\n",
		title, body)
}

// Relative makes the addresses of pages' own links, which begin with /, relative to the page. They then hold behind a proxy that puts a prefix before all
// paths, too. Pages must write each link in one piece, and text with escaped quotes.
func Relative(pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pages.ServeHTTP(&relativePage{w, Up(r.URL)}, r)
	})
}

// Up returns the relative way from a path to /.
func Up(at *url.URL) string {
	return "./" + strings.Repeat("../", max(0, strings.Count(at.EscapedPath(), "/")-1))
}

type relativePage struct {
	http.ResponseWriter
	up string
}

func (p *relativePage) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p *relativePage) Write(b []byte) (int, error) {
	if !strings.HasPrefix(p.Header().Get("Content-Type"), "text/html") {
		return p.ResponseWriter.Write(b)
	}
	if _, err := p.ResponseWriter.Write(bytes.ReplaceAll(b, []byte(`="/`), []byte(`="`+p.up))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// ErrorPage answers with an error that doesn't come from the API. Like Jetty it uses HTML, text or JSON, whichever the
// client accepts. It sends the status alone if the client accepts none, or if the request was to change something.
func ErrorPage(w http.ResponseWriter, r *http.Request, status int, message string) {
	h := w.Header()
	h.Set("Cache-Control", "must-revalidate,no-cache,no-store")
	format, ok := Negotiate(r.Header.Values("Accept"), HTML, Text, JSON)
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
	default:
		ok = false
	}
	if !ok {
		h.Del("Content-Type")
		w.WriteHeader(status)
		return
	}
	path := ascii(r.URL.Path)
	message = ascii(message)
	switch format {
	case Text:
		h.Set("Content-Type", "text/plain;charset=iso-8859-1")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, "HTTP ERROR %d %s\nURI: %s\nSTATUS: %[1]d\nMESSAGE: %[2]s\nSERVLET: heddle\n", status,
			message, path)
	case JSON:
		h.Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(Document{Style: Unwrapped, Value: jettyError{
			"heddle", message, path, strconv.Itoa(status),
		}}.JSON())
	default:
		h.Set("Content-Type", errorType)
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, "<html>\n<head>\n<title>Error %d %s</title>\n</head>\n<body><h2>HTTP ERROR %[1]d %[2]s</h2>\n"+
			"<table>\n<tr><th>URI:</th><td>%s</td></tr>\n<tr><th>STATUS:</th><td>%[1]d</td></tr>\n"+
			"<tr><th>MESSAGE:</th><td>%[2]s</td></tr>\n</table>\n</body>\n</html>\n",
			status, message, path)
	}
}

// ascii escapes what has a meaning in HTML, and what Latin-1 may lack.
func ascii(s string) string {
	var b strings.Builder
	for _, r := range html.EscapeString(s) {
		if r < 0x80 {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "&#%d;", r)
		}
	}
	return b.String()
}

type jettyError struct {
	Servlet string `yarn:"servlet"`
	Message string `yarn:"message"`
	URL     string `yarn:"url"`
	Status  string `yarn:"status"`
}

// Headers adds the headers that all of YARN's answers have.
func Headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-cache")
		h.Set("Pragma", "no-cache")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "SAMEORIGIN")
		h.Set("X-XSS-Protection", "1; mode=block")
		next.ServeHTTP(w, r)
	})
}
